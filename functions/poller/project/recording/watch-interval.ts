/** Decides how often an open operation that the list no longer shows is read by itself. `watch-end.ts` says when that ends. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../shared/core/time/durations.ts';

/**
 * A failed operation may be retried hours later ("States and transitions"), so it is watched at a falling rate: a few
 * dozen of them at a constant rate would use up the whole rate limit. Any other open operation is expected to change
 * soon after it began.
 */
const WATCH_STEPS = {
  failed: [
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
  ],
  moving: [
    { untilAgeMs: 10 * MINUTE_MS, intervalMs: 5_000 },
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
  ],
} as const;

/** Beyond the last step an operation is read this often. */
const LAST_INTERVAL_MS = HOUR_MS;

export function watchIntervalMs(status: string, ageMs: number): number {
  const steps = status === 'failed' ? WATCH_STEPS.failed : WATCH_STEPS.moving;
  return steps.find((step) => ageMs < step.untilAgeMs)?.intervalMs ?? LAST_INTERVAL_MS;
}

/**
 * `ageMs` counts from the first observation of the status. `sinceReadMs` counts from the last reading, and is
 * undefined when that is unknown.
 */
export function isReadDue(status: string, ageMs: number, sinceReadMs: number | undefined): boolean {
  return sinceReadMs === undefined || sinceReadMs >= watchIntervalMs(status, ageMs);
}
