/** How many requests commands have sent to the upstream, so that all who spend the account's rate limit know of each other. */

import { commandUsageKey } from './keys.ts';
import type { Table, TableCounters } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

export interface CommandUsage {
  /** Notes requests that leave now; gives all that were ever noted. */
  add(requestCount: number): Promise<number>;
}

/** Names of the attributes of its items. */
export const USAGE_ATTRIBUTES = ['request_count'] as const;

export function createCommandUsage(counters: TableCounters, accountId: string): CommandUsage {
  const key = commandUsageKey(accountId);
  return {
    add: (requestCount) => counters.increment({ key, name: 'request_count', by: requestCount }),
  };
}

/** All that were ever noted. Rejects when the item cannot be read: then commands are assumed to use all of their part. */
export async function readCommandUsage(
  table: Pick<Table, 'get'>,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<number> {
  const key = commandUsageKey(accountId);
  const count = (await table.get(key))?.['request_count'] ?? 0;
  if (typeof count === 'number' && count >= 0) return count;
  const item = { key, fields: ['request_count'] };
  noteUnreadable(item);
  throw new UnreadableItemError(item);
}
