/** Decides the record of one account: since when the bridge watches it, and whether the upstream answers for it. */

import * as z from 'zod';
import { append, EMPTY_JOURNAL, type Journal, withEventId } from './journal.ts';
import {
  type AccountEntry,
  type AccountHealthEntry,
  type AccountWatchedEntry,
  accountHealthEntry,
  type DegradedReason,
  type Fields,
} from './journal-entries.ts';
import { isoTimeOf, type Timestamp, timestamp } from './time.ts';
import { usageSchema } from './usage.ts';

export const accountFields = {
  kind: z.literal('account'),
  account_id: z.string(),
  /**
   * The first request that was ever answered left at this time, or the answer showed it where that is earlier.
   * Operations that were created before it are history.
   */
  boot_at: timestamp,
  /** It is true when all projects were listed once. From then on, a project that appears is news. */
  is_listed: z.boolean(),
  /** Every project was read for the first time by then. Accounts of earlier versions lack it. */
  watched_at: z.string().optional(),
  /** It is undefined while the account is healthy. */
  degraded_reason: accountHealthEntry.shape.reason.optional(),
  /** What all projects have used together, as it was read when it was last written. */
  usage: usageSchema.optional().catch(undefined),
};

export interface AccountRecord extends Fields<typeof accountFields>, Journal<AccountEntry> {}

export function firstAccountRecord(account_id: string, boot_at: Timestamp): AccountRecord {
  return { kind: 'account', account_id, boot_at, is_listed: false, ...EMPTY_JOURNAL };
}

/** Counts what the first reading of a whole account found. */
export interface FirstSight {
  readonly project_count: number;
  readonly failing_count: number;
}

/**
 * The first reading of the largest account takes a few hours. An account that is older than this was read before, by a
 * version that did not note it.
 */
const FIRST_SIGHT_MS_MAX = 86_400_000;

/** Returns whether the end of the account's first reading is still to be published. */
export function awaitsFirstSight({ watched_at, boot_at }: AccountRecord, nowMs: number): boolean {
  return watched_at === undefined && nowMs - Date.parse(boot_at) <= FIRST_SIGHT_MS_MAX;
}

/** Returns undefined when the end of the first reading was published before. */
export function decideFirstSight(
  recorded: AccountRecord,
  counts: FirstSight,
  nowMs: number,
): AccountRecord | undefined {
  if (!awaitsFirstSight(recorded, nowMs)) return undefined;
  const revision = recorded.revision + 1;
  const observed_at = isoTimeOf(nowMs);
  const entry: AccountWatchedEntry = withEventId([recorded.account_id], {
    type: 'account_watched' as const,
    revision,
    observed_at,
    ...counts,
  });
  return { ...recorded, watched_at: observed_at, ...append<AccountEntry>(recorded, entry) };
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
  const cause = reason ?? before ?? 'upstream_failing';
  const entry: AccountHealthEntry = withEventId([recorded.account_id], {
    type,
    revision,
    observed_at: isoTimeOf(nowMs),
    reason: cause,
  } as const);
  return { ...recorded, degraded_reason: reason, ...append<AccountEntry>(recorded, entry) };
}
