/** Says whether a token is for an account of which the bridge knows nothing: a mistake, or an account that is still to come. */

import { accountItemKey, accountKey, accountStatusKey } from '../../../shared/store/keys.ts';
import type { Item, Table } from '../../../shared/store/table.ts';

/** The table knows added accounts by their items, and configured ones from their first poll on. */
export async function missingAccountWarning(
  table: Pick<Table, 'get'>,
  accountId: string,
): Promise<string | undefined> {
  const keys = [accountItemKey, accountKey, accountStatusKey].map((keyOf) => keyOf(accountId));
  // Who may issue tokens need not have the right to read accounts, and then there is nothing to say.
  const found = await Promise.all(keys.map((key) => table.get(key))).catch(() => undefined);
  if (found === undefined || isKnown(found)) return undefined;
  return `The bridge has no account ${accountId}: none of this id was added, and it has polled none so far. Check --account, unless the account is still to come; the token works once it is there.`;
}

/** What was recorded of a removed account stays. */
function isKnown([added, ...recorded]: readonly (Item | undefined)[]): boolean {
  if (added?.['state'] === 'removed') return false;
  return [added, ...recorded].some((item) => item !== undefined);
}
