/**
 * What commands send to the upstream, so that all who spend the account's rate limit know of each other: how many requests have
 * left, in all and by caller, and the permits that were given out for more.
 */

import { commandUsageKey } from './keys.ts';
import type { CountedMembers, Table, TableCounters, TimeMove } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

export interface CommandUsage {
  /** Notes what has left, in one write: in all, and by caller within the present window of time. */
  note(usage: NewUsage): Promise<UsageSums>;
  /** The same, and asks for permits for what is to leave. When there are none, nothing was noted either. */
  noteAndAsk(usage: NewUsage, asked: AskedPermits): Promise<GrantedPermits | NoPermits>;
}

export interface NewUsage {
  readonly requestCount: number;
  /** By the short names of callers. */
  readonly members: ReadonlyMap<string, number>;
  /** Counts by caller start over with each. */
  readonly window: number;
}

/** Permits stand one behind the other in time, an interval apart, the first one not before now. */
export interface AskedPermits {
  readonly nowMs: number;
  readonly intervalMs: number;
  /** While nobody has permits that stand behind now. */
  readonly quietCount: number;
  /** While somebody has; none, when the last one would stand later than `latestMs`. */
  readonly busyCount: number;
  readonly latestMs: number;
}

export interface UsageSums {
  /** All requests that were ever noted. */
  readonly requestCount: number;
  /** The window that the next is about: another process may be ahead. */
  readonly window: number;
  /** All that was noted in the window of the callers that are in this note; empty when its time was over. */
  readonly members: ReadonlyMap<string, number>;
  /** Where the next permit stands, whoever has the ones before it; 0: there was none yet. */
  readonly nextAtMs: number;
  /** Usually 1; one more when a window has just begun, when the account has just become busy or quiet. */
  readonly writeCount: number;
}

export interface GrantedPermits extends UsageSums {
  /** They are the last ones before `nextAtMs`. */
  readonly permitCount: number;
}

export interface NoPermits {
  readonly permitCount: 0;
  readonly writeCount: number;
}

const TOTAL = 'request_count';
const MEMBERS = 'callers';
const WINDOW = 'callers_window';
const NEXT_AT = 'next_at_ms';

/** Names of the attributes of its items that the poller reads. */
export const USAGE_ATTRIBUTES = [TOTAL] as const;

/** And of those that instances of the API keep for each other. */
export const CALLER_USAGE_ATTRIBUTES = [MEMBERS, WINDOW, NEXT_AT] as const;

/** Permits are never given so far ahead: a clock that was wrong has set the time. */
const WRONG_AHEAD_MS = 120_000;

export function createCommandUsage(counters: TableCounters, accountId: string): CommandUsage {
  const key = commandUsageKey(accountId);
  /** The counts that are there belong to a window that is over. */
  let isOver = false;
  /** The latest place of the next permit that is known; it never goes back. */
  let nextAtMs = 0;

  return {
    async note(usage) {
      const { answer, writeCount } = await count(usage, undefined);
      if (answer === 'refused') throw new Error('The counts of callers are being started over');
      return { ...sumsOf(usage, answer), writeCount };
    },
    async noteAndAsk(usage, asked) {
      let writeCount = 0;
      for (const { permitCount, move } of movesOf(asked, nextAtMs)) {
        const counted = await count(usage, move);
        writeCount += counted.writeCount;
        if (counted.answer !== 'refused')
          return { ...sumsOf(usage, counted.answer), permitCount, writeCount };
      }
      return { permitCount: 0, writeCount };
    },
  };

  /** The map of callers is added to, or made anew, whichever is its turn. */
  async function count(
    { requestCount, members, window }: NewUsage,
    move: TimeMove | undefined,
  ): Promise<{ readonly answer: CountedMembers | 'refused'; readonly writeCount: number }> {
    const group = { name: MEMBERS, by: Object.fromEntries(members), windowName: WINDOW, window };
    const total = { name: TOTAL, by: requestCount };
    const increment = { key, total, members: group, time: { name: NEXT_AT, move } };
    const first = await counters.incrementMembers({ ...increment, startsOver: isOver });
    if (typeof first !== 'string') return { answer: first, writeCount: 1 };
    // There are no counts yet, or somebody else has started them over just now.
    if (first === 'refused' && !isOver) return { answer: first, writeCount: 1 };
    isOver = first === 'missing';
    const second = await counters.incrementMembers({ ...increment, startsOver: isOver });
    return { answer: second === 'missing' ? 'refused' : second, writeCount: 2 };
  }

  function sumsOf({ members, window }: NewUsage, answer: CountedMembers): Omit<UsageSums, 'writeCount'> {
    isOver = answer.window < window;
    nextAtMs = answer.timeMs;
    const sums = isOver ? [] : Object.entries(answer.members).filter(([name]) => members.has(name));
    return { requestCount: answer.total, window: answer.window, members: new Map(sums), nextAtMs };
  }
}

interface Move {
  readonly permitCount: number;
  readonly move: TimeMove;
}

/** Whether anybody has permits that stand behind now, nobody knows for sure; but the time never goes back. */
function movesOf(asked: AskedPermits, knownNextAtMs: number): readonly Move[] {
  const { nowMs, intervalMs, latestMs, quietCount, busyCount } = asked;
  const wrongMs = nowMs + WRONG_AHEAD_MS;
  const latestNextMs = latestMs - (busyCount - 1) * intervalMs;
  const onward = {
    kind: 'onward',
    byMs: busyCount * intervalMs,
    earliestMs: nowMs,
    latestMs: latestNextMs,
  } as const;
  const toMs = nowMs + quietCount * intervalMs;
  const anew = { kind: 'anew', toMs, beforeMs: nowMs, afterMs: wrongMs } as const;
  const isBusy = knownNextAtMs >= nowMs && knownNextAtMs <= wrongMs;
  const onwards = busyCount > 0 ? [{ permitCount: busyCount, move: onward }] : [];
  return isBusy ? onwards : [{ permitCount: quietCount, move: anew }, ...onwards];
}

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
