/** Decides when an operation is not watched any more: a failed one that was not retried, and one that has vanished. */

import { DAY_MS, MINUTE_MS } from '../../../../shared/core/time/durations.ts';

/** A failed operation that was not retried for this long is not watched any more, and an event says so. */
export const FAILED_WATCH_MS_MAX = 30 * DAY_MS;

/**
 * An operation counts as vanished after two 404 answers at least this far apart, since a single one can be a passing
 * refusal, and one more after the list of its project has answered again.
 */
export const VANISHED_AFTER_MS = MINUTE_MS;

export function isWatchOver(status: string, ageMs: number): boolean {
  return status === 'failed' && ageMs >= FAILED_WATCH_MS_MAX;
}
