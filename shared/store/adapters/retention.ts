/**
 * Decides how long the items of the poller are kept. DynamoDB deletes an item some time after the moment that its
 * `expires_at` names, and keeps an item without one for ever. Parked events have none (`parked-events.ts`).
 */

import { SETTLED_KEPT_MS } from '../../core/records/history.ts';
import type { JournalRecord } from '../../core/records/journal-record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Update } from '../table.ts';

/**
 * An item is kept for this long after its last write when nothing is left to do with it. An item that DynamoDB has
 * not deleted yet is still true, so no reader filters by `expires_at`. What may have been deleted does not count as
 * news (`mayBeForgotten`).
 */
export const SETTLED_KEPT_SECONDS = SETTLED_KEPT_MS / 1_000;

/** A project that is gone is kept for this much longer than everything else of it, and leaves all lists after that. */
export const GONE_PROJECT_EXTRA_SECONDS = SETTLED_KEPT_MS / 1_000;

/**
 * A branch or a compute is kept for this much longer, 400 days in all. A branch must not become ready a second time
 * when it is restored, and a compute can run for months until its state changes.
 */
export const DERIVED_EXTRA_SECONDS = 355 * 86_400;

/** Returns the value of `expires_at` for an item that is written now, in seconds since the epoch. */
export function expiresAtOf(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1_000) + SETTLED_KEPT_SECONDS;
}

/**
 * Returns the attributes that let a record expire, for one of which nothing is left to read or publish. Accounts and
 * visible projects are kept for ever.
 */
export function expiryAttributes(record: JournalRecord, expiresAt: number): Update['set'] {
  if (record.kind === 'operation') return { expires_at: Math.max(expiresAt, keptFrom(record.created_at)) };
  if (record.kind === 'command') return { expires_at: expiresAt };
  if (record.kind === 'branch' || record.kind === 'compute')
    return { expires_at: expiresAt + DERIVED_EXTRA_SECONDS };
  const isGone = record.kind === 'project' && !record.is_visible;
  return isGone ? { expires_at: expiresAt + GONE_PROJECT_EXTRA_SECONDS } : {};
}

/** The upstream shows a row from the future for longer than others, and it must not outlive its record. */
function keptFrom(createdAt: string): number {
  const createdSeconds = Math.floor(Date.parse(createdAt) / 1_000);
  return Number.isNaN(createdSeconds) ? 0 : createdSeconds + SETTLED_KEPT_SECONDS;
}
