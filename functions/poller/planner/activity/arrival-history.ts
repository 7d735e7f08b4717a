/** Says how often operations begin in a project, as far as its pages have shown it. */

import { DAY_MS } from '../../../../shared/core/time/durations.ts';

/** Says how many operations began in which time. Suspends are left out, because a running compute announces them. */
export interface ArrivalHistory {
  readonly arrivalCount: number;
  readonly observedMs: number;
}

/**
 * Returns what is known after one more page. The page of a busy project reaches back only an hour or two, and the
 * page of a quiet project a day or more. So a page counts only for the time that has passed since the page before;
 * otherwise the rate of a busy project would be that of its last hour.
 */
export function longRunHistory(
  before: ArrivalHistory | undefined,
  page: ArrivalHistory,
  elapsedMs: number,
): ArrivalHistory {
  const saysItAll = page.observedMs >= DAY_MS || elapsedMs >= page.observedMs;
  if (before === undefined || saysItAll) return page;
  const observedMs = Math.min(DAY_MS, before.observedMs + elapsedMs);
  const keptCount = (before.arrivalCount * (observedMs - elapsedMs)) / before.observedMs;
  const newCount = (page.arrivalCount * elapsedMs) / page.observedMs;
  return { arrivalCount: keptCount + newCount, observedMs };
}

/**
 * Returns what a page says when the oldest operation that the account has shown was created at `oldestMs`. A list that
 * ends says nothing about the time before the account was used.
 */
export function withinAccount(page: ArrivalHistory, oldestMs: number, nowMs: number): ArrivalHistory {
  const observedMsMax = Math.max(DAY_MS, nowMs - oldestMs);
  return page.observedMs <= observedMsMax ? page : { ...page, observedMs: observedMsMax };
}
