/**
 * Decides how long the items of the poller are kept. DynamoDB deletes an item some time after the moment that its
 * `expires_at` names, and keeps an item without one for ever. Parked events have none (`parked-events.ts`).
 */

import { RETENTION_MS } from '../records/history.ts';
import type { JournalRecord } from '../records/journal-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Update } from './table.ts';

const DAY_SECONDS = 86_400;

/**
 * An operation is kept for this long after its last acknowledgement. An item that DynamoDB has not deleted yet is still
 * true, so no reader filters by `expires_at`.
 */
const RETENTION_SECONDS = RETENTION_MS / 1_000;

/** Commands, replays, repairs and wishes are kept for this long after their last write: nobody asks for them later. */
const REQUESTS_KEPT_SECONDS = 45 * DAY_SECONDS;

/**
 * A branch, a compute and a project that is gone are kept for this long, which is longer than any operation of theirs.
 * A branch must not become ready a second time when it is restored, and a compute can run for months until its state
 * changes.
 */
export const DERIVED_KEPT_SECONDS = 400 * DAY_SECONDS;

/** Returns the value of `expires_at` for a request that is written now, in seconds since the epoch. */
export function expiresAtOf(clock: Clock): number {
  return nowSeconds(clock) + REQUESTS_KEPT_SECONDS;
}

/**
 * Returns the attributes that let a record expire, for one of which nothing is left to read or publish. Accounts and
 * visible projects are kept for ever.
 */
export function expiryAttributes(record: JournalRecord, clock: Clock): Update['set'] {
  const now = nowSeconds(clock);
  if (record.kind === 'operation')
    return { expires_at: Math.max(now, createdSeconds(record.created_at)) + RETENTION_SECONDS };
  if (record.kind === 'command') return { expires_at: expiresAtOf(clock) };
  const isDerived = record.kind === 'branch' || record.kind === 'compute';
  const isGone = record.kind === 'project' && !record.is_visible;
  return isDerived || isGone ? { expires_at: now + DERIVED_KEPT_SECONDS } : {};
}

/** The upstream shows a row from the future for longer than others, and it must not outlive its record. */
function createdSeconds(createdAt: string): number {
  return Math.floor(Date.parse(createdAt) / 1_000) || 0;
}

function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1_000);
}
