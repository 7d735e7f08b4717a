/** Says what a function makes of every account of its configuration and of the table, for a self-test. */

import { createAccountReader } from '../accounts/account-store.ts';
import { type ConfiguredAccount, mergeAccounts } from '../accounts/merge-accounts.ts';
import type { AccountRules } from '../config/account-rules.ts';
import type { Table, TablePartitions } from '../store/table.ts';
import type { SelfTestReport } from './self-test.ts';

interface AccountsRead {
  readonly configured: readonly ConfiguredAccount[];
  readonly rules: AccountRules;
  readonly table: Table;
  readonly partitions: TablePartitions;
}

/** Resolves to undefined when the table does not answer, which the probe of its partition says already. */
export async function servedAccounts({
  configured,
  rules,
  table,
  partitions,
}: AccountsRead): Promise<SelfTestReport['accounts']> {
  const items = await createAccountReader(table, partitions)
    .list()
    .catch(() => undefined);
  if (items === undefined) return undefined;
  const merged = mergeAccounts<ConfiguredAccount>(configured, items, { rules, settingsOf: (added) => added });
  return [...merged].map(([account_id, { origin, state, fault }]) => ({
    account_id,
    origin,
    state,
    ...(fault !== undefined && { fault }),
  }));
}
