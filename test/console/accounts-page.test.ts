/** Tests the list of all accounts: who sees it, and that accounts that need a person come first. */

import { describe, expect, test } from 'vitest';
import type { ListedAccount } from '../../functions/api/bridge/account-routes.ts';
import { byTrouble } from '../../functions/api/console/pages/accounts-page.ts';
import { createAccountStore } from '../../shared/accounts/account-store.ts';
import { SCOPE_BUNDLES } from '../../shared/callers/scopes.ts';
import { writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { anAccount } from '../accounts/an-account.ts';
import { createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const NOON = new Date(NOON_MS).toISOString();

async function setUp() {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
    rules: { upstreamHosts: ['upstream.example'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
  });
  let idCount = 0;
  const store = createAccountStore(api.memory, createMemoryPartitions(api.memory), {
    clock,
    newId: () => `stamp-${++idCount}`,
  });
  const add = (account_id: string, host: string, state: 'active' | 'paused' = 'active') =>
    store.add({
      account_id,
      state,
      settings: anAccount({ account_id, upstream_base_url: `https://${host}/api/v2` }),
      changed_by: 'an-admin',
    });
  await add('asleep', 'upstream.example', 'paused');
  await add('foreign', 'elsewhere.example');
  await add('well', 'upstream.example');
  await writeAccountStatus(api.memory, {
    account_id: 'well',
    written_at: NOON,
    last_complete_walk_at: NOON,
    project_count: 12,
    open_operation_count: 0,
    requests_per_minute: 300,
    points: [],
  });
  const signIn = async (options: TokenOptions) => {
    const response = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        token: await api.issueToken(options),
        next: '/console',
      }).toString(),
    });
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    return async (path: string) => {
      const answer = await api.app.request(path, { headers: { cookie } });
      return { status: answer.status, text: await answer.text() };
    };
  };
  return { signIn, table: api.memory };
}

describe('the list of accounts', () => {
  test('shows administrators every account, those that need a person first', async () => {
    const get = await (await setUp()).signIn({ client_id: 'an-admin' });

    const { status, text } = await get('/console/accounts');

    expect(status).toBe(200);
    const order = ['foreign', 'main', 'asleep', 'well'].map((id) => text.search(`<td>(<a [^>]*>)?${id}<`));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order[0]).toBeGreaterThan(0);
    expect(text).toContain('4 accounts, 2 in trouble, 1 paused.');
    expect(text).toContain('upstream_hosts');
    expect(text).toContain('href="/console/accounts/main"');
    expect(text).not.toContain('href="/console/accounts/well"');
  });

  test('is filtered by a part of the id', async () => {
    const get = await (await setUp()).signIn({});

    const { text } = await get('/console/accounts?text=AsLe');

    expect(text).toContain('<td>asleep');
    expect(text).not.toContain('<td>well');
  });

  test.each([
    ['has everything that a bundle gives', { scopes: SCOPE_BUNDLES.admin.scopes }],
    ['is limited to projects', { project_ids: ['bold-sound-12345678'] }],
  ])('is closed to a visitor who %s, and the navigation does not offer it', async (_what, options) => {
    const get = await (await setUp()).signIn(options);

    expect(await get('/console/accounts')).toMatchObject({ status: 403 });
    expect((await get('/console')).text).not.toContain('href="/console/accounts"');
  });
});

test('accounts in trouble are ordered by how long they have not been read, and all others by their ids', () => {
  const listed = (account_id: string, fields: Partial<ListedAccount>): ListedAccount => ({
    account_id,
    state: 'active',
    origin: 'added',
    upstream_base_url: 'https://upstream.example/api/v2',
    healthy: true,
    reasons: [],
    ...fields,
  });
  const accounts = [
    listed('b-well', {}),
    listed('a-well', {}),
    listed('late', { healthy: false, last_complete_walk_at: '2026-01-15T11:00:00.000Z' }),
    listed('later', { healthy: false, last_complete_walk_at: '2026-01-15T10:00:00.000Z' }),
    listed('never', { healthy: false }),
  ];

  expect(byTrouble(accounts).map(({ account_id }) => account_id)).toEqual([
    'never',
    'later',
    'late',
    'a-well',
    'b-well',
  ]);
});
