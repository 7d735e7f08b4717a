/** Names days by UTC, and says which of them the insights look at. */

import { DAY_MS } from '../core/time/durations.ts';
import { isoTimeOf } from '../core/time/timestamp.ts';

/** A day has the form `2026-01-15`. */
export type UtcDay = string & { readonly __brand: 'UtcDay' };

/** Insights rest on this many days, the present one included. */
export const INSIGHT_DAYS = 7;

/** Throws `RangeError` beyond the calendar. */
export function dayOf(epochMs: number): UtcDay {
  return isoTimeOf(epochMs).slice(0, 10) as UtcDay;
}

/** Returns the days that insights rest on, oldest first. */
export function insightDays(nowMs: number): readonly UtcDay[] {
  return Array.from({ length: INSIGHT_DAYS }, (_, index) =>
    dayOf(nowMs - (INSIGHT_DAYS - 1 - index) * DAY_MS),
  );
}

/** Says whether the day is one of those. */
export function isInsightDay(day: UtcDay, nowMs: number): boolean {
  return day <= dayOf(nowMs) && day >= dayOf(nowMs - (INSIGHT_DAYS - 1) * DAY_MS);
}

/** Returns the moment at which a day is over, in milliseconds since the epoch. */
export function dayEndMs(day: UtcDay): number {
  return Date.parse(`${day}T00:00:00Z`) + DAY_MS;
}
