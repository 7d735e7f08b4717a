/** Names hours by UTC, and says which of them are counted. */

import { HOUR_MS } from '../core/time/durations.ts';
import { isoTimeOf } from '../core/time/timestamp.ts';

/** An hour has the form `2026-01-15T12`. */
export type UtcHour = string & { readonly __brand: 'UtcHour' };

/** People look back a day: 23 whole hours, and the one that has begun. */
const COUNTED_HOURS = 24;

/** Throws `RangeError` beyond the calendar. */
export function hourOf(epochMs: number): UtcHour {
  return isoTimeOf(epochMs).slice(0, 13) as UtcHour;
}

/** Returns the counted hours, oldest first. The last one is the present hour. */
export function countedHours(nowMs: number): readonly UtcHour[] {
  return Array.from({ length: COUNTED_HOURS }, (_, index) =>
    hourOf(nowMs - (COUNTED_HOURS - 1 - index) * HOUR_MS),
  );
}

export function isCountedHour(hour: UtcHour, nowMs: number): boolean {
  return hour <= hourOf(nowMs) && hour >= hourOf(nowMs - (COUNTED_HOURS - 1) * HOUR_MS);
}

/** Returns the beginning of the hour, in milliseconds since the epoch. */
export function hourStartMs(hour: UtcHour): number {
  return Date.parse(`${hour}:00:00Z`);
}
