/** Decides the record of one account: since when the bridge watches it, and whether the upstream answers for it. */

import { eventId } from '../journal/event-id.ts';
import { append, EMPTY_JOURNAL, type Journal } from '../journal/journal.ts';
import type { AccountHealthEntry, DegradedReason } from '../journal/journal-entries.ts';
import { isoTimeOf, type Timestamp } from '../time/timestamp.ts';

export interface AccountRecord extends Journal<AccountHealthEntry> {
  readonly kind: 'account';
  readonly account_id: string;
  /**
   * The upstream's own clock showed this time at its first answer ever. Operations that were created before it are
   * history.
   */
  readonly boot_at: Timestamp;
  /** It is true when all projects were listed once. From then on, a project that appears is news. */
  readonly is_listed: boolean;
  /** It is undefined while the account is healthy. */
  readonly degraded_reason?: DegradedReason | undefined;
}

export function firstAccountRecord(account_id: string, boot_at: Timestamp): AccountRecord {
  return { kind: 'account', account_id, boot_at, is_listed: false, ...EMPTY_JOURNAL };
}

/** Returns undefined when the record already says so. `reason` is undefined when the account is healthy again. */
export function decideHealth(
  recorded: AccountRecord,
  reason: DegradedReason | undefined,
  nowMs: number,
): AccountRecord | undefined {
  const before = recorded.degraded_reason;
  if (before === reason) return undefined;
  const revision = recorded.revision + 1;
  const type = reason === undefined ? 'account_recovered' : 'account_degraded';
  const entry: AccountHealthEntry = {
    type,
    id: eventId([recorded.account_id, revision, type, reason ?? null]),
    revision,
    observed_at: isoTimeOf(nowMs),
    reason: reason ?? before ?? 'upstream_failing',
  };
  return { ...recorded, degraded_reason: reason, ...append(recorded, entry) };
}
