/**
 * Decides whether projects fail alike because of the service. Single operations fail all the time, so a number of projects
 * alone says nothing: it counts when far more of them began to fail at the same time than usually do.
 */

import { MINUTE_MS } from '../../../../shared/core/time/durations.ts';
import type { DayInsights } from '../../../../shared/insights/day-insights.ts';
import type { CountedHour } from '../../../../shared/insights/hour-counts-store.ts';
import { hourStartMs } from '../../../../shared/insights/utc-hour.ts';

/** A fault of the service shows in all projects within minutes, so only incidents that began this close together count. */
export const TOGETHER_MS = 10 * MINUTE_MS;

/** Two projects can fail together because one person changed both. */
const PROJECTS_MIN = 3;

/** A person on call trusts the alert only if it is hardly ever wrong. */
const CHANCE_MAX = 0.001;

/** An hour can be busier, and a day worse, than those before, without the service being at fault. */
const MARGIN = 2;

/** From fewer operations than this, no share of failures is derived. */
const OPERATIONS_MIN = 50;

/** The first minutes of an hour are too few to derive a rate from. */
const ELAPSED_MS_MIN = 10 * MINUTE_MS;

/**
 * Returns whether `projectCount` projects are unlikely to have begun to fail independently of each other: less than once
 * in a thousand times, even if twice as many failed as usual. `usualCount` is how many usually do in such a time.
 */
export function isServiceLikely(projectCount: number, usualCount: number): boolean {
  return projectCount >= PROJECTS_MIN && chanceOfAtLeast(projectCount, MARGIN * usualCount) < CHANCE_MAX;
}

/** Returns the chance of `count` or more events when `mean` are expected and they are independent (Poisson distribution). */
function chanceOfAtLeast(count: number, mean: number): number {
  if (mean >= count) return 1;
  let logTerm = -mean;
  let below = 0;
  for (let each = 0; each < count; each++) {
    below += Math.exp(logTerm);
    logTerm += Math.log(mean / (each + 1));
  }
  return Math.max(0, 1 - below);
}

/**
 * Returns how many operations of the action usually begin to fail within a minute in the whole account: how many begin
 * now, times the share of the action among all, times the share of it that fails. The shares are those of seven days.
 * `hours` are the present hour and the one before. Returns undefined while too little is known.
 */
export function usualFailuresPerMinute(
  action: string,
  days: readonly DayInsights[],
  hours: readonly CountedHour[],
  nowMs: number,
): number | undefined {
  const bins = days.flatMap((day) => [...day].map(([name, { attempts }]) => ({ name, attempts })));
  const endedCount = sum(bins.map(({ attempts }) => sum(Object.values(attempts))));
  const own = bins.filter(({ name }) => name === action);
  const ownCount = sum(own.map(({ attempts }) => sum(Object.values(attempts))));
  if (ownCount < OPERATIONS_MIN) return undefined;
  // The bin 0 has the operations that needed one attempt.
  const failedCount = ownCount - sum(own.map(({ attempts }) => attempts['0'] ?? 0));
  // One failure more than was seen keeps the share above zero.
  const failingShare = (failedCount + 1) / (ownCount + 1);
  return startsPerMinute(hours, nowMs) * (ownCount / endedCount) * failingShare;
}

/** Returns the higher rate of the two hours, because the present one may have just begun, and so may the bridge. */
function startsPerMinute(hours: readonly CountedHour[], nowMs: number): number {
  const rates = hours.map(({ hour, counts }) => {
    const elapsedMs = Math.min(60 * MINUTE_MS, nowMs - hourStartMs(hour));
    return elapsedMs < ELAPSED_MS_MIN ? 0 : counts.started_count / (elapsedMs / MINUTE_MS);
  });
  return Math.max(0, ...rates);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
