/** How many requests commands have sent to the upstream, so that all who spend the account's rate limit know of each other. */

import { commandUsageKey } from './keys.ts';
import type { Table, TableCounters } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

export interface CommandUsage {
  /** Notes what leaves now, in one write: in all, and by caller within the present window of time. */
  note(usage: NewUsage): Promise<UsageSums>;
}

export interface NewUsage {
  readonly requestCount: number;
  /** By the short names of callers. */
  readonly members: ReadonlyMap<string, number>;
  /** Counts by caller start over with each. */
  readonly window: number;
}

export interface UsageSums {
  /** All requests that were ever noted. */
  readonly requestCount: number;
  /** The window that the next is about: another process may be ahead. */
  readonly window: number;
  /** All that was noted in the window of the callers that are in this note; empty when its time was over. */
  readonly members: ReadonlyMap<string, number>;
  /** Usually 1; one more when a window has just begun. */
  readonly writeCount: number;
}

const TOTAL = 'request_count';
const MEMBERS = 'callers';
const WINDOW = 'callers_window';

/** Names of the attributes of its items that the poller reads. */
export const USAGE_ATTRIBUTES = [TOTAL] as const;

/** And of those that instances of the API keep for each other. */
export const CALLER_USAGE_ATTRIBUTES = [MEMBERS, WINDOW] as const;

export function createCommandUsage(counters: TableCounters, accountId: string): CommandUsage {
  const key = commandUsageKey(accountId);
  /** The counts that are there belong to a window that is over. */
  let isOver = false;

  return {
    async note({ requestCount, members, window }) {
      const group = { name: MEMBERS, by: Object.fromEntries(members), windowName: WINDOW, window };
      const counted = { key, total: { name: TOTAL, by: requestCount }, members: group };
      for (let writeCount = 1; ; writeCount++) {
        const answer = await counters.incrementMembers({ ...counted, startsOver: isOver });
        if (answer === 'refused') {
          // There are no counts yet, or somebody else has started them over just now.
          if (writeCount === ATTEMPTS_MAX) throw new Error('The counts of callers are being started over');
          isOver = !isOver;
          continue;
        }
        isOver = answer.window < window;
        const sums = isOver ? [] : Object.entries(answer.members).filter(([name]) => members.has(name));
        return { requestCount: answer.total, window: answer.window, members: new Map(sums), writeCount };
      }
    },
  };
}

/** Each of the two ways is tried once. */
const ATTEMPTS_MAX = 2;

/** All that were ever noted. Rejects when the item cannot be read: then commands are assumed to use all of their part. */
export async function readCommandUsage(
  table: Pick<Table, 'get'>,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<number> {
  const key = commandUsageKey(accountId);
  const count = (await table.get(key))?.[TOTAL] ?? 0;
  if (typeof count === 'number' && count >= 0) return count;
  const item = { key, fields: [TOTAL] };
  noteUnreadable(item);
  throw new UnreadableItemError(item);
}
