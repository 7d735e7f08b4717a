/**
 * Holds in memory what recorded transitions add to the counts of their hours, and writes it about once a minute by
 * compare-and-set.
 */

import { isDeepStrictEqual } from 'node:util';
import type { HourCountsStore, StoredHour } from '../../../shared/insights/hour-counts.ts';
import {
  type CountedChange,
  isCountedHour,
  type UtcHour,
  withChanges,
} from '../../../shared/insights/hour-counts.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

/** Counts are written at the latest after this time, and a process that ends loses what waits. */
export const COUNTS_WAIT_MS_MAX = MINUTE_MS;

/** At most this many changes wait, about five megabytes. This number is reached only while the table refuses writes. */
export const PENDING_CHANGES_MAX = 20_000;

interface ChangesOfHour {
  readonly hour: UtcHour;
  readonly changes: readonly CountedChange[];
}

interface PendingCounts {
  take(change: CountedChange): void;
  /** Takes out everything that waits, once the first of it has waited for a minute. */
  takeDue(): readonly ChangesOfHour[];
  /** Puts changes back that could not be written. They are due again in a minute. */
  putBack(changes: readonly CountedChange[]): void;
  /** Returns how many changes were dropped since the last call, because too many waited. */
  takeDroppedCount(): number;
}

export function createPendingCounts(clock: Clock): PendingCounts {
  let waiting: CountedChange[] = [];
  let sinceMs: number | undefined;
  let droppedCount = 0;

  const put = (change: CountedChange) => {
    if (waiting.length >= PENDING_CHANGES_MAX) {
      droppedCount += 1;
      return;
    }
    sinceMs ??= clock.now();
    waiting.push(change);
  };

  return {
    take(change) {
      // A walk through the history shows older operations, too.
      if (isCountedHour(change.hour, clock.now())) put(change);
    },

    takeDue() {
      if (sinceMs === undefined || clock.now() - sinceMs < COUNTS_WAIT_MS_MAX) return [];
      const due = Map.groupBy(waiting, ({ hour }) => hour);
      [waiting, sinceMs] = [[], undefined];
      return [...due].map(([hour, changes]) => ({ hour, changes }));
    },

    putBack(changes) {
      for (const change of changes) put(change);
    },

    takeDroppedCount() {
      const count = droppedCount;
      droppedCount = 0;
      return count;
    },
  };
}

export interface HourCountsPort {
  readonly pending: PendingCounts;
  readonly store: HourCountsStore;
}

export interface WriteCountsDeps {
  readonly hourCounts: HourCountsPort;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/** It costs nothing to look whether something waits. */
const LOOK_MS = 10_000;

/** Two pollers that write the same item at the same moment need two attempts. */
const ATTEMPTS_MAX = 3;

/** It looks at once, because a warm process may have kept changes of its previous invocation. */
export async function writeCountsRepeatedly(deps: WriteCountsDeps): Promise<void> {
  const { hourCounts, clock, telemetry, signal } = deps;
  while (!signal.aborted) {
    for (const group of hourCounts.pending.takeDue()) {
      if (signal.aborted) hourCounts.pending.putBack(group.changes);
      else await writeHour(deps, group);
    }
    const droppedCount = hourCounts.pending.takeDroppedCount();
    if (droppedCount > 0)
      telemetry.log('warn', 'hour_counts.dropped', { change_count: droppedCount, reason: 'too_many' });
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}

/**
 * A write of which the outcome is unknown is not repeated, so that nothing is counted twice. The SDK repeats a call by
 * itself, so a refusal may come from a write that was made: then the item holds what was to be written.
 */
async function writeHour(
  { hourCounts: { pending, store }, telemetry }: WriteCountsDeps,
  { hour, changes }: ChangesOfHour,
): Promise<void> {
  const drop = (reason: string) =>
    telemetry.log('warn', 'hour_counts.dropped', { hour, change_count: changes.length, reason });
  let next: StoredHour | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = await store.readHour(hour).catch(() => undefined);
    if (stored === undefined) break;
    if (stored === 'unreadable') return drop('unreadable');
    if (isDeepStrictEqual(stored, next)) return;
    next = { counts: withChanges(stored.counts, changes), revision: stored.revision + 1 };
    const outcome = await store.writeHour(hour, next).catch(() => 'unknown' as const);
    if (outcome === 'unknown') return drop('write_unknown');
    if (outcome === 'applied') return;
  }
  pending.putBack(changes);
}
