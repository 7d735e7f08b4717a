import { describe, expect, test } from 'vitest';
import { decideKeys, type RunUpstream } from '../../../infra/local/account-keys.ts';
import type { AccountItem } from '../../../shared/accounts/account.ts';
import { accountSettings } from '../../../shared/accounts/account.ts';

const PREFIX = 'operations-bridge/upstream-keys/';
const BASE_URL = 'https://upstream.example/api/v2';

function anItem(account_id: string, chosen: object = {}, fields: Partial<AccountItem> = {}): AccountItem {
  const settings = accountSettings.parse({
    account_id,
    upstream_base_url: BASE_URL,
    key_secret_id: `${PREFIX}${account_id}`,
    ...chosen,
  });
  const at = '2026-01-15T12:00:00.000Z';
  const marks = { added_at: at, added_by: 'an-admin', changed_at: at, changed_by: 'an-admin' };
  return { account_id, version: 1, state: 'active', settings, ...marks, ...fields };
}

const upstream = (fields: Partial<RunUpstream> = {}): RunUpstream => ({
  isSimulated: false,
  rules: { upstreamHosts: ['upstream.example', 'other.example'], keySecretPrefix: PREFIX },
  ...fields,
});

const NO_KEY =
  'has no key in this run, because the keys of added accounts are kept in memory alone. Store it again:';

describe('the keys of added accounts after a restart', () => {
  test('with the simulated upstream are its own key, in each secret that an account names', () => {
    const items = [
      anItem('one'),
      anItem('two', { key_secret_id: `${PREFIX}shared` }),
      anItem('three', { key_secret_id: `${PREFIX}shared`, command_key_secret_id: `${PREFIX}commands` }),
    ];

    expect(decideKeys(items, upstream({ isSimulated: true }))).toEqual({
      secretIds: [`${PREFIX}one`, `${PREFIX}shared`, `${PREFIX}commands`],
      lines: [],
    });
  });

  test('of a real account are missing, and a line has the command that stores each again', () => {
    expect(decideKeys([anItem('tenant-7'), anItem('b', {}, { state: 'paused' })], upstream())).toEqual({
      secretIds: [],
      lines: [
        `The account tenant-7 ${NO_KEY}`,
        '  KEY=... operations-bridge accounts set tenant-7 --key-env KEY',
        `The account b ${NO_KEY}`,
        '  KEY=... operations-bridge accounts set b --key-env KEY',
      ],
    });
  });

  test('that one command cannot store are put into their secrets, each secret once', () => {
    const shared = { key_secret_id: `${PREFIX}shared` };
    const items = [
      anItem('one', shared),
      anItem('two', shared),
      anItem('three', { command_key_secret_id: `${PREFIX}commands` }),
    ];

    expect(decideKeys(items, upstream()).lines).toEqual([
      expect.stringMatching(
        /^These accounts have no keys in this run, because .*: one, two, three\. Store the texts/,
      ),
      `  aws secretsmanager create-secret --name ${PREFIX}shared --secret-string file:///dev/stdin`,
      `  aws secretsmanager create-secret --name ${PREFIX}three --secret-string file:///dev/stdin`,
      `  aws secretsmanager create-secret --name ${PREFIX}commands --secret-string file:///dev/stdin`,
    ]);
  });

  test("of removed accounts, and of a configured one that is paused, are nobody's concern", () => {
    const { settings: _none, ...mark } = anItem('main', {}, { state: 'paused' });

    expect(decideKeys([anItem('gone', {}, { state: 'removed' }), mark], upstream())).toEqual({
      secretIds: [],
      lines: [],
    });
  });

  test.each([true, false])(
    'are not stored for an account whose upstream is another one, which a line says (simulated: %s)',
    (isSimulated) => {
      const item = anItem('tenant', { upstream_base_url: 'http://127.0.0.1:40123/api/v2' });
      const { secretIds, lines } = decideKeys([item], upstream({ isSimulated }));

      expect(secretIds).toEqual([]);
      expect(lines).toEqual([
        'The account tenant is not polled in this run: upstream_base_url must have one of the hosts that the deployment allows (upstream_hosts): upstream.example, other.example. Remove it ("operations-bridge accounts remove tenant") and add it again, or start the run with the upstream that it had.',
      ]);
    },
  );
});
