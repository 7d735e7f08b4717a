/** Decides how often an open operation that the list no longer shows is read by itself, and when that ends. */

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
    { untilAgeMs: Number.POSITIVE_INFINITY, intervalMs: HOUR_MS },
  ],
  moving: [
    { untilAgeMs: 10 * MINUTE_MS, intervalMs: 5_000 },
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
    { untilAgeMs: Number.POSITIVE_INFINITY, intervalMs: HOUR_MS },
  ],
} as const;

/** A failed operation that was not retried for this long is not watched any more, and an event says so. */
export const FAILED_WATCH_MS_MAX = 30 * DAY_MS;

/**
 * An operation counts as vanished after two 404 answers at least this far apart, since a single one can be a passing
 * refusal.
 */
export const VANISHED_AFTER_MS = MINUTE_MS;

export function watchIntervalMs(status: string, ageMs: number): number {
  const steps = status === 'failed' ? WATCH_STEPS.failed : WATCH_STEPS.moving;
  return (steps.find((step) => ageMs < step.untilAgeMs) ?? steps[steps.length - 1])?.intervalMs ?? HOUR_MS;
}

/**
 * `ageMs` counts from the first observation of the status. `sinceReadMs` counts from the last reading, and is
 * undefined when that is unknown.
 */
export function isReadDue(status: string, ageMs: number, sinceReadMs: number | undefined): boolean {
  return sinceReadMs === undefined || sinceReadMs >= watchIntervalMs(status, ageMs);
}

export function isWatchOver(status: string, ageMs: number): boolean {
  return status === 'failed' && ageMs >= FAILED_WATCH_MS_MAX;
}
