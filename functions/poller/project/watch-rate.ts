/** How often an open operation that the list no longer shows is read by itself, and when that ends. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';

/**
 * A failed operation may be retried hours later ("States and transitions"), so it is watched at a falling rate:
 * flat polling of a few dozen of them would eat the whole rate limit. Any other open operation is expected to
 * move soon, at first.
 */
const WATCH_STEPS = {
  failed: [
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
    { untilAgeMs: Number.POSITIVE_INFINITY, intervalMs: HOUR_MS },
  ],
  moving: [
    { untilAgeMs: 10 * MINUTE_MS, intervalMs: 5_000 },
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
    { untilAgeMs: Number.POSITIVE_INFINITY, intervalMs: HOUR_MS },
  ],
} as const;

/** A failed operation that nobody retried for this long is not watched any more, and an event says so. */
export const FAILED_WATCH_MS_MAX = 30 * DAY_MS;

/** A 404 must be seen twice, this far apart, before an operation counts as vanished: it can be a passing refusal. */
export const VANISHED_AFTER_MS = MINUTE_MS;

export function watchIntervalMs(status: string, ageMs: number): number {
  const steps = status === 'failed' ? WATCH_STEPS.failed : WATCH_STEPS.moving;
  return (steps.find((step) => ageMs < step.untilAgeMs) ?? steps[steps.length - 1])?.intervalMs ?? HOUR_MS;
}

/** `ageMs`: since the status was first observed. `sinceReadMs`: since the last reading; undefined when unknown. */
export function isReadDue(status: string, ageMs: number, sinceReadMs: number | undefined): boolean {
  return sinceReadMs === undefined || sinceReadMs >= watchIntervalMs(status, ageMs);
}

export function isWatchOver(status: string, ageMs: number): boolean {
  return status === 'failed' && ageMs >= FAILED_WATCH_MS_MAX;
}
