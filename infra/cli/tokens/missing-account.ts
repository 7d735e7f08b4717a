/** Says whether a token is for an account of which the table knows nothing: a mistake, or an account that is still to come. */

import { accountItemKey, accountKey, accountStatusKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

/** The table knows added accounts by their items, and configured ones from their first poll on. */
export async function missingAccountWarning(table: Table, accountId: string): Promise<string | undefined> {
  const keys = [accountItemKey, accountKey, accountStatusKey].map((keyOf) => keyOf(accountId));
  // Who may issue tokens need not have the right to read accounts, and then there is nothing to say.
  const found = await Promise.all(keys.map((key) => table.get(key))).catch(() => undefined);
  if (found === undefined || found.some((item) => item !== undefined)) return undefined;
  return `The table does not know the account ${accountId}: none of this id was added, and none was polled so far. An account of the configuration is polled within a minute of its deployment. If it is another one, check --account; the token works once the account is there.`;
}
