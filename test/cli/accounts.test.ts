/** What a person does with accounts at a terminal, against the routes of the API. */

import { describe, expect, test } from 'vitest';
import { decideKeyWrite } from '../../infra/cli/accounts/put-key.ts';
import { createApiUnderTest, listen } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

async function aBridge(status = 200) {
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
    OPERATIONS_BRIDGE_TOKEN: await api.issueToken({ client_id: 'an-admin' }),
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

    expect(added.output).toBe('tenant  active  added');
    expect(added.notes).toBe('The key sees 1 project. The bridge polls the account within a minute.');
    expect(pinned.output).toBe('tenant  active  added  lane 3');
    expect(paused.output).toBe('tenant  paused  added  lane 3');
    expect(listed.output.split('\n')).toEqual([
      expect.stringMatching(/^main {2}active {2}configured {2}/),
      'tenant  paused  added  lane 3',
    ]);
    expect(shown.json()).toMatchObject({ settings: { poll_interval_seconds: 1, linger_seconds: 0 } });
    expect(unpinned.output).toBe('tenant  paused  added');
    expect(resumed.output).toBe('tenant  active  added');
    expect(removed.output).toBe('The account tenant is removed.');
    expect((await accounts('list')).output).not.toContain('tenant');
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
      'The key was not stored: the name of the secret must begin with "operations-bridge/upstream-keys/"',
    ],
    [['pin', 'tenant', 'left'], '--lane'],
    [['set', 'tenant'], 'nothing to change'],
    [['pause', 'unknown'], '404'],
    [['remove', 'main'], 'comes with the deployment'],
  ])('ask for what is missing or wrong: %j', async (args, words) => {
    const accounts = await aBridge();

    await expect(accounts(...args)).rejects.toThrow(words);
  });
});

describe('a key that is put into a secret', () => {
  test.each([
    [undefined, { kind: 'create', text: 'napi_new' }],
    ['napi_new\n', { kind: 'nothing' }],
    ['{"other":"napi_other"}', { kind: 'put', text: '{"other":"napi_other","tenant":"napi_new"}' }],
    ['{"tenant":"napi_old"}', { kind: 'put', text: '{"tenant":"napi_new"}' }],
    ['{"tenant":"napi_new"}', { kind: 'nothing' }],
  ])('joins what is there: %j', (known, write) => {
    expect(decideKeyWrite(known, 'napi_new', 'tenant')).toEqual(write);
  });

  test.each(['napi_of_another', '{"tenant":', '{"tenant":7}', ''])(
    'never replaces what is no key of the account: %j',
    (known) => {
      const write = decideKeyWrite(known, 'napi_new', 'tenant');

      expect(write.kind).toBe('refused');
      expect(JSON.stringify(write)).not.toContain('napi');
    },
  );
});
