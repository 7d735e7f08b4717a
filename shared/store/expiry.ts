/** How long items are kept: DynamoDB deletes an item some time after the moment that its `expires_at` names. */

import { SETTLED_KEPT_MS } from '../core/records/history.ts';
import type { Clock } from '../runtime/clock.ts';

/**
 * An item that nothing is left to do with is kept for this long after its last write. An item that DynamoDB has not deleted
 * yet is still true, so no reader filters by `expires_at`. What may have been deleted does not count as news
 * (`mayBeForgotten`).
 */
export const SETTLED_KEPT_SECONDS = SETTLED_KEPT_MS / 1_000;

/** A project that is gone is kept for this much longer than everything else of it, and leaves all lists then. */
export const GONE_PROJECT_EXTRA_SECONDS = SETTLED_KEPT_SECONDS;

/** The value of `expires_at` for an item that is written now: seconds since the epoch. */
export function expiresAtOf(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1_000) + SETTLED_KEPT_SECONDS;
}
