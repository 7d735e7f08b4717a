/**
 * Counts what commands send to the upstream, in all and by caller, and gives out permits for more. So all processes
 * that spend the account's rate limit know of each other.
 */

import { commandUsageKey } from './keys.ts';
import type { CountedMembers, Table, TableCounters, TimeMove } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

export interface CommandUsage {
  /** Notes in one write what has left, in all and by caller within the present window of time. */
  note(usage: NewUsage): Promise<UsageSums>;
  /** Does the same, and asks for permits for what is to leave. When there are none, nothing was noted either. */
  noteAndAsk(usage: NewUsage, asked: AskedPermits): Promise<GrantedPermits | NoPermits>;
}

export interface NewUsage {
  readonly requestCount: number;
  /** The keys are the short names of callers. */
  readonly members: ReadonlyMap<string, number>;
  /** The counts by caller start over with each window. */
  readonly window: number;
}

/** Permits stand one behind the other in time, an interval apart. The first one stands at the present or later. */
export interface AskedPermits {
  readonly nowMs: number;
  readonly intervalMs: number;
  /** This many permits are asked for while no process has permits that stand in the future. */
  readonly quietCount: number;
  /**
   * This many permits are asked for while another process has such permits. None are given when the last one would
   * stand later than `latestMs`.
   */
  readonly busyCount: number;
  readonly latestMs: number;
}

export interface UsageSums {
  /** Counts all requests that were ever noted. */
  readonly requestCount: number;
  /** The next field counts this window. Another process may be ahead of the window that was asked for. */
  readonly window: number;
  /** Counts all that was noted in the window of the callers that are in this note. It is empty when the window was over. */
  readonly members: ReadonlyMap<string, number>;
  /** The next permit stands at this time, whichever process has the ones before it. It is 0 when there was none yet. */
  readonly nextAtMs: number;
  /**
   * It is usually 1. One more write is needed when a window has just begun, and when the account has just become busy
   * or quiet.
   */
  readonly writeCount: number;
}

export interface GrantedPermits extends UsageSums {
  /** The permits are the last ones before `nextAtMs`. */
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

/** The poller reads these attributes of the item. */
export const USAGE_ATTRIBUTES = [TOTAL] as const;

/** Instances of the API keep these attributes for each other. */
export const CALLER_USAGE_ATTRIBUTES = [MEMBERS, WINDOW, NEXT_AT] as const;

/** Permits are never given this far ahead. A later time was set by a clock that was wrong. */
const WRONG_AHEAD_MS = 120_000;

export function createCommandUsage(counters: TableCounters, accountId: string): CommandUsage {
  const key = commandUsageKey(accountId);
  /** It is true when the stored counts belong to a window that is over. */
  let isOver = false;
  /** The next permit is known to stand at this time or later. It never goes back. */
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

  /** Adds to the map of callers, or replaces it when its window is over. */
  async function count(
    { requestCount, members, window }: NewUsage,
    move: TimeMove | undefined,
  ): Promise<{ readonly answer: CountedMembers | 'refused'; readonly writeCount: number }> {
    const group = { name: MEMBERS, by: Object.fromEntries(members), windowName: WINDOW, window };
    const total = { name: TOTAL, by: requestCount };
    const increment = { key, total, members: group, time: { name: NEXT_AT, move } };
    const first = await counters.incrementMembers({ ...increment, startsOver: isOver });
    if (typeof first !== 'string') return { answer: first, writeCount: 1 };
    // Either there are no counts yet, or another process has started them over just now.
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

/**
 * Returns what to try, in order. This process does not know for sure whether another one has permits that stand in
 * the future, but the time never goes back.
 */
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

/**
 * Resolves to the number of requests that were ever noted. Rejects when the item cannot be read, and then commands
 * are assumed to use their whole share.
 */
export async function readCommandUsage(
  table: Table,
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
