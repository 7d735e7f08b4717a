/** The alarm `no-complete-walk` takes a silent poller for a dead one, so a poller with nothing to read says that it lives. */

import { expect, test } from 'vitest';
import { createAccountStore } from '../../../shared/accounts/account-store.ts';
import { createMemoryPartitions } from '../../store/memory-partitions.ts';
import { MINUTE_MS } from './bridge.ts';
import { severalAccounts } from './several-accounts.ts';

const ACCOUNTS = ['left', 'right'] as const;

test('accounts without a project are zero milliseconds behind', async () => {
  const bridge = severalAccounts(ACCOUNTS);

  await bridge.run(3 * MINUTE_MS);

  expect(bridge.walkAgesMs).toEqual([0, 0, 0, 0, 0, 0]);
});

test('a lane whose accounts are all paused is zero milliseconds behind', async () => {
  const bridge = severalAccounts(ACCOUNTS);
  const accounts = createAccountStore(bridge.table, createMemoryPartitions(bridge.table), {
    clock: { now: bridge.nowMs, sleep: async () => {} },
    newId: () => 'an id',
  });
  for (const account_id of ACCOUNTS)
    await accounts.add({ account_id, state: 'paused', changed_by: 'an-admin' });

  await bridge.run(3 * MINUTE_MS);

  expect(bridge.walkAgesMs).toEqual([0, 0, 0]);
});

test('accounts whose projects could not be listed say nothing, and the alarm goes off', async () => {
  const bridge = severalAccounts(ACCOUNTS);
  for (const id of ACCOUNTS) bridge.services[id].dials.answers = () => ({ status: 500 });

  await bridge.run(3 * MINUTE_MS);

  expect(bridge.walkAgesMs).toEqual([]);
});
