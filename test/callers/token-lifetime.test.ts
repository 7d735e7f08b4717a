import { expect, test } from 'vitest';
import { createTokenStore, TOKEN_DAYS_MAX, type TokenRecord } from '../../shared/callers/tokens.ts';
import { DAY_MS } from '../../shared/records/time.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const tokenOf = (days: number): TokenRecord => ({
  token_id: `token-${days}`,
  account_id: 'main',
  client_id: 'deployer',
  hash: '00',
  scopes: ['projects:read'],
  created_at: new Date(NOON_MS).toISOString(),
  expires_at_ms: NOON_MS + days * DAY_MS,
});

test('a token is never issued for longer than the longest lifetime', async () => {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const store = createTokenStore(createMemoryTable(), clock);

  await store.create(tokenOf(TOKEN_DAYS_MAX));
  await expect(store.create(tokenOf(TOKEN_DAYS_MAX + 1))).rejects.toMatchObject({ code: 'token_invalid' });
  expect(await store.read(`token-${TOKEN_DAYS_MAX + 1}`)).toBeUndefined();
});
