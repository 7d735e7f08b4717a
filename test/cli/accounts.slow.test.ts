/** What a person does with accounts at a terminal, against the routes of the API. */

import { describe, expect, test } from 'vitest';
import { createAccountsClient } from '../../infra/cli/access/account-requests.ts';
import { decideKeyWrite } from '../../infra/cli/access/put-key.ts';
import type { Scope } from '../../shared/callers/scopes.ts';
import { createApiUnderTest, listen } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

async function aBridge(status = 200, scopes?: readonly Scope[]) {
  const upstream = createUpstreamDouble(() =>
    Response.json({ projects: [{ id: 'quiet-pond-12345678', name: 'a' }] }, { status }),
  );
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    rules: { upstreamHosts: ['upstream.test'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
  });
  const environment = {
    OPERATIONS_BRIDGE_URL: await listen(api),
    OPERATIONS_BRIDGE_TOKEN: await api.issueToken({ client_id: 'an-admin', ...(scopes && { scopes }) }),
    A_KEY: 'napi_a',
  };
  return (...args: readonly string[]) => runSubcommand(['accounts', ...args], { environment });
}

describe('accounts at a terminal', () => {
  test('are added, listed, paused, pinned, changed, resumed and removed', async () => {
    const accounts = await aBridge();

    const added = await accounts('add', 'tenant', '--settings', '{"poll_interval_seconds": 1}');
    const pinned = await accounts('pin', 'tenant', '3');
    const paused = await accounts('pause', 'tenant');
    const listed = await accounts('list');
    const shown = await accounts('set', 'tenant', '--settings', '{"linger_seconds": 0}', '--json');
    const unpinned = await accounts('pin', 'tenant', 'none');
    const resumed = await accounts('resume', 'tenant');
    const removed = await accounts('remove', 'tenant');

    expect(added.output).toBe('tenant   active  added   -     -         -');
    expect(added.notes).toContain('The key sees 1 project. The bridge polls the account within a minute.');
    expect(added.notes).toContain('The same key is used for main');
    expect(pinned.output).toBe('tenant   active  added   3     -         -');
    expect(paused.output).toBe('tenant   paused  added   3     -         -');
    expect(listed.output.split('\n')).toEqual([
      expect.stringMatching(/^main +active +configured /),
      'tenant   paused  added       3     -         -',
    ]);
    expect(shown.json()).toMatchObject({ settings: { poll_interval_seconds: 1, linger_seconds: 0 } });
    expect(unpinned.output).toBe('tenant   paused  added   -     -         -');
    expect(resumed.output).toBe('tenant   active  added   -     -         -');
    expect(removed.output).toBe('The account tenant is removed.');
    expect((await accounts('list')).output).not.toContain('tenant');
  });

  test('that were added before are the same after the same command, and it says so', async () => {
    const accounts = await aBridge();
    const first = await accounts('add', 'tenant', '--json');

    const second = await accounts('add', 'tenant', '--json');

    expect(second.json()).toMatchObject({ added_at: (first.json() as { added_at: string }).added_at });
    expect(second.notes).toBe('It had been added before with the same settings; nothing was changed.');
    expect(first.notes).not.toContain('before');
  });

  test('share a secret with each account that has one of its keys there, for polling or for commands', async () => {
    const { output } = await (await aBridge())('add', 'other', '--json');
    const settings = { key_secret_id: 'one', command_key_secret_id: 'two' };
    const accounts = [{ ...JSON.parse(output), settings }];
    const client = createAccountsClient({
      send: () => Promise.reject(new Error('unused')),
      read: async (_request, body) => body.parse({ accounts }),
    });

    expect(await client.sharing('one', 'tenant')).toEqual(['other']);
    expect(await client.sharing('two', 'tenant')).toEqual(['other']);
    expect(await client.sharing('two', 'other')).toEqual([]);
    expect(await client.sharing('three', 'tenant')).toEqual([]);
  });

  test('take their address from an option or from the settings', async () => {
    const accounts = await aBridge();
    const address = 'https://upstream.test/api/v2';

    const one = await accounts('add', 'one', '--upstream', address, '--json');
    const two = await accounts('add', 'two', '--settings', JSON.stringify({ upstream_base_url: address }));

    expect(one.json()).toMatchObject({ upstream_base_url: address, check: { project_count: 1 } });
    expect(two.output).toBe('two      active  added   -     -         -');
  });

  test('take a setting back to its default with null', async () => {
    const accounts = await aBridge();
    await accounts('add', 'tenant', '--settings', '{"poll_interval_seconds": 1}');

    const { output } = await accounts(
      'set',
      'tenant',
      '--settings',
      '{"poll_interval_seconds": null}',
      '--json',
    );

    expect(JSON.parse(output).settings).not.toHaveProperty('poll_interval_seconds');
  });

  test('are listed as far as a token without accounts:read may see them', async () => {
    const accounts = await aBridge(200, ['projects:read']);

    const { output, notes } = await accounts('list');

    expect(output).toMatch(/^main/);
    expect(notes).toMatch(
      /\nWithout accounts:read the token sees its own account only, and not how it is set\.$/,
    );
  });

  test('whose key the upstream refuses are not added, and the reason is printed', async () => {
    const accounts = await aBridge(401);

    await expect(accounts('add', 'tenant')).rejects.toThrow(
      /422: The upstream at upstream.test refuses the key in the secret operations-bridge\/upstream-keys\/tenant/,
    );
    expect((await accounts('list')).output).not.toContain('tenant');
  });

  test.each([
    [['add', 'Not An Id'], 'is no id of an account'],
    [['add', 'tenant', '--settings', '[1]'], '--settings takes a JSON object'],
    [['add', 'tenant', '--key-env', 'NO_SUCH_VARIABLE'], 'The variable NO_SUCH_VARIABLE is empty'],
    [['add', 'tenant', '--key-env', 'A', '--key-stdin'], 'two ways for one key'],
    [['add', 'tenant', '--key-stdin', '--token-stdin'], 'read the same input'],
    [
      ['add', 'tenant', '--key-env', 'A_KEY', '--secret', 'prod/other-service'],
      'body.key_secret_id: must be the name of a secret that begins with operations-bridge/upstream-keys/',
    ],
    [['add', 'main', '--key-env', 'A_KEY'], 'comes with the deployment'],
    [['add', 'tenant', '--key-env', 'A_KEY', '--upstream', 'https://evil.test/api/v2'], 'upstream_hosts'],
    [['add', 'tenant', '--settings', '{"account_id": "other"}'], 'account_id is given twice'],
    [['add', 'tenant', '--lane', '1', '--settings', '{"lane": 2}'], 'lane is given twice'],
    [['pin', 'tenant', 'left'], '"left" is no lane; it takes a whole number from 0 to 499, or "none"'],
    [['set', 'tenant'], 'nothing to change'],
    [['set', 'unknown', '--key-env', 'A_KEY'], 'There is no account unknown'],
    [['set', 'main', '--key-env', 'A_KEY'], 'docs/deploy/rotate-a-key.md'],
    [
      ['set', 'known', '--key-env', 'A_KEY', '--secret', 'prod/other-service'],
      'body.key_secret_id: must be the name of a secret that begins with operations-bridge/upstream-keys/',
    ],
    [['pause', 'unknown'], '404: There is no account unknown'],
    [['remove', 'main'], 'comes with the deployment'],
  ])('ask for what is missing or wrong: %j', async (args, words) => {
    const accounts = await aBridge();
    await accounts('add', 'known');

    await expect(accounts(...args)).rejects.toThrow(words);
  });
});

describe('a key that is put into a secret', () => {
  const change = { key: 'napi_new', accountId: 'tenant', mayReplace: false, sharedWith: [] };

  test.each([
    [undefined, { kind: 'create', text: 'napi_new' }],
    ['napi_new\n', { kind: 'nothing' }],
    ['{}', { kind: 'put', text: '{"tenant":"napi_new"}' }],
    ['{"other":"napi_other"}', { kind: 'put', text: '{"other":"napi_other","tenant":"napi_new"}' }],
    ['{"tenant":"napi_new"}', { kind: 'nothing' }],
  ])('joins what is there: %j', (known, write) => {
    expect(decideKeyWrite(known, change)).toEqual(write);
  });

  test.each([
    ['napi_old', 'napi_new'],
    ['{"tenant":"napi_old","other":"napi_other"}', '{"tenant":"napi_new","other":"napi_other"}'],
  ])('replaces the key of the account only on request: %j', (known, text) => {
    expect(decideKeyWrite(known, { ...change, mayReplace: true })).toEqual({ kind: 'put', text });
    expect(decideKeyWrite(known, change)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('--replace-key'),
    });
  });

  test('never replaces a single key that other accounts have, too, and names them', () => {
    const write = decideKeyWrite('napi_old', { ...change, mayReplace: true, sharedWith: ['one', 'two'] });

    expect(write).toMatchObject({ kind: 'refused', reason: expect.stringContaining('one key for one, two') });
  });

  test.each(['{"tenant":', '{"tenant":7}'])('never replaces what is no key: %j', (known) => {
    const write = decideKeyWrite(known, { ...change, mayReplace: true });

    expect(write.kind).toBe('refused');
    expect(JSON.stringify(write)).not.toContain('napi');
  });
});
