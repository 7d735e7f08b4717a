/** Tests `operations-bridge start --sign-in`: a person signs in at a real OpenID provider, and faults of the settings are named. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setUpSignIn } from '../../infra/local/local-sign-in.ts';
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../console/sign-in/openid-provider.ts';
import { createPersonWithBrowser } from '../console/sign-in/person-with-browser.ts';
import { aFolder } from './a-folder.ts';
import { runBridgeCommand } from './child-process.ts';
import { parseStartOptions } from './start-options.ts';

const SETTINGS = {
  issuer: 'https://login.example.com',
  client_id: CLIENT_ID,
  roles: [{ value: 'bridge-admins', scopes: ['admin', 'audit:read'] }],
};

function aFile(content: unknown): string {
  const file = join(aFolder(), 'sign-in.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

test('a person signs in at the provider, and sees the overview of the simulated account', async () => {
  const provider = await startOpenIdProvider({ secret: CLIENT_SECRET });
  provider.setClaims({ groups: ['bridge-admins'] });
  const file = aFile({ ...SETTINGS, issuer: provider.issuer });
  const args = ['start', '--projects', '1', '--sign-in', file];
  const command = runBridgeCommand(args, { SIGN_IN_CLIENT_SECRET: CLIENT_SECRET });
  await command.until(/\n {2}poller/);
  const [, origin = ''] = /API +(http:\S+)/.exec(command.output()) ?? [];
  provider.register(origin);

  const browser = createPersonWithBrowser();
  const callback = await browser.reachCallback(`${origin}/console/sign-in/start?next=/console`, 'ada');
  const { status } = await browser.send(callback);
  const { text } = await browser.send(`${origin}/console`);

  expect(status).toBe(200);
  expect(text).toContain('<h1>Overview</h1>');
  expect(text).toContain('href="/console/audit"');
  expect(command.output()).toContain(`or at ${new URL(provider.issuer).host}`);
  expect(command.output()).toContain(`${origin}/console/sign-in/callback   the redirect URI`);
  expect(command.output()).not.toContain(CLIENT_SECRET);
}, 60_000);

describe('the settings', () => {
  const kept = new Map<string, string>();
  const aws = { secrets: { create: (id: string, text: string) => void kept.set(id, text) } } as never;

  test('name the secret, and do not hold it', () => {
    const file = aFile(SETTINGS);
    const { host, environment } = setUpSignIn({ file, clientSecret: 'canary' }, aws);

    expect(host).toBe('login.example.com');
    expect(JSON.parse(environment['SIGN_IN'] ?? '')).toMatchObject({
      client_id: CLIENT_ID,
      account_id: 'main',
      roles_claim: 'groups',
      client_secret_id: 'operations-bridge/sign-in',
    });
    expect(environment['SIGN_IN']).not.toContain('canary');
    expect([...kept]).toEqual([['operations-bridge/sign-in', 'canary']]);
  });

  test.each([
    ['is no JSON', '{"client_secret": "canary"', /it is no JSON\./],
    ['has a secret in it', { ...SETTINGS, client_secret: 'canary' }, /"client_secret"/],
    ['has no roles', { ...SETTINGS, roles: [] }, /roles: /],
    [
      'names an issuer without https',
      { ...SETTINGS, issuer: 'http://login.example.com' },
      /issuer: must begin/,
    ],
  ])('are refused when the file %s, and the message quotes no value', (_name, content, message) => {
    const file = aFile(content);
    const refused = () => setUpSignIn({ file, clientSecret: undefined }, aws);

    expect(refused).toThrow(message);
    expect(refused).toThrow(`--sign-in cannot use ${file}`);
    expect(refused).not.toThrow(/canary/);
  });

  test('are refused when there is no such file', () => {
    const refused = () => setUpSignIn({ file: '/nowhere/sign-in.json', clientSecret: undefined }, aws);

    expect(refused).toThrow(/--sign-in cannot use \/nowhere\/sign-in\.json: it cannot be read/);
  });
});

test('the option takes the secret from the environment, and real time only', () => {
  const environment = { SIGN_IN_CLIENT_SECRET: 'x' };

  expect(parseStartOptions(['--sign-in', 'a.json'], environment).signIn).toEqual({
    file: 'a.json',
    clientSecret: 'x',
  });
  expect(parseStartOptions([], environment).signIn).toBeUndefined();
  expect(() => parseStartOptions(['--sign-in', 'a.json', '--speed', '10'], environment)).toThrow(
    /needs real time/,
  );
});
