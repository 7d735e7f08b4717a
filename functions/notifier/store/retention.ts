/** Defines how long the notifier's items stay in the table. */

import type { Clock } from '../../../shared/runtime/clock.ts';

/**
 * The time is longer than any operation is watched: a reported notice is known for as long as a copy or a retry of it
 * can come.
 */
const KEPT_SECONDS = 40 * 86_400;

/** Returns the value of `expires_at`, in seconds since 1970, for an item that is written now. */
export function expiresAt(clock: Clock): number {
  return Math.floor(clock.now() / 1_000) + KEPT_SECONDS;
}
