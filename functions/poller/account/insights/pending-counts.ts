/** Holds in memory what recorded transitions add to the counts of their hours, until it is written. */

import { MINUTE_MS } from '../../../../shared/core/time/durations.ts';
import type { CountedChange } from '../../../../shared/insights/hour-counts.ts';
import { isCountedHour, type UtcHour } from '../../../../shared/insights/utc-hour.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Counts are written at the latest after this time, and a process that ends loses what waits. */
export const COUNTS_WAIT_MS_MAX = MINUTE_MS;

/** At most this many changes wait, about five megabytes. This number is reached only while the table refuses writes. */
export const PENDING_CHANGES_MAX = 20_000;

export interface ChangesOfHour {
  readonly hour: UtcHour;
  readonly changes: readonly CountedChange[];
}

export interface PendingCounts {
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
