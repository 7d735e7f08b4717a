/**
 * Counts how many operations began in each of the last days, as far as one page of a project shows them. In one day of
 * a quiet project there are so few that their number is mostly chance, and in one day of a busy one there are enough.
 */

import { DAY_MS } from '../../../../shared/core/time/durations.ts';
import type { ArrivalHistory } from './arrival-history.ts';

interface DailyArrivals {
  /**
   * Takes the rows of the page one after the other, the newest first. Returns false once the rows that follow cannot
   * change the result.
   */
  take(createdMs: number, isArrival: boolean): boolean;
  /**
   * Returns what the page shows. `isWhole` says that the list ends with it: then nothing happened before its oldest
   * row. `oldestMs` is when that row was created, and is absent when there is none.
   */
  history(isWhole: boolean): ArrivalHistory & { readonly oldestMs?: number };
}

/** What is older than a week says little about today. */
const DAYS_MAX = 7;

/**
 * The last day counts, and further days do until there are this many operations: a rate of yesterday says more than one of
 * last week. Whole days are counted, because most work follows the hours of the day.
 */
const ARRIVALS_ENOUGH = 16;

/** A page that fills up within a minute shows a burst, which says little about the day. */
const OBSERVED_MS_MIN = 60_000;

/** `nowMs` is in milliseconds since the epoch. */
export function createDailyArrivals(nowMs: number): DailyArrivals {
  /** The first of the counts is that of the last 24 hours. A day without an operation has no count. */
  const counts: number[] = [];
  let arrivalCount = 0;
  /** The page shows everything since this number of milliseconds. */
  let reachMs = 0;

  return {
    take(createdMs, isArrival) {
      // A time that cannot be read ends the page, and the rows before it count for a day.
      const ageMs = Number.isNaN(createdMs) ? DAY_MS : nowMs - createdMs;
      reachMs = Math.max(reachMs, ageMs);
      const day = Math.max(0, Math.ceil(ageMs / DAY_MS) - 1);
      const isEnough = day >= counts.length && arrivalCount >= ARRIVALS_ENOUGH;
      if (Number.isNaN(createdMs) || day >= DAYS_MAX || isEnough) return false;
      if (!isArrival) return true;
      counts[day] = (counts[day] ?? 0) + 1;
      arrivalCount += 1;
      return true;
    },
    history(isWhole) {
      const oldest = reachMs > 0 && { oldestMs: nowMs - reachMs };
      const wholeDays = isWhole ? DAYS_MAX : Math.min(DAYS_MAX, Math.floor(reachMs / DAY_MS));
      if (wholeDays === 0) return { arrivalCount, observedMs: Math.max(OBSERVED_MS_MIN, reachMs), ...oldest };
      return { ...enoughDays(counts, wholeDays), ...oldest };
    },
  };
}

/** Counts day by day until the operations are enough, and at most `wholeDays`. */
function enoughDays(counts: readonly number[], wholeDays: number): ArrivalHistory {
  let arrivalCount = 0;
  let days = 0;
  while (days < wholeDays && arrivalCount < ARRIVALS_ENOUGH) {
    arrivalCount += counts[days] ?? 0;
    days += 1;
  }
  return { arrivalCount, observedMs: days * DAY_MS };
}
