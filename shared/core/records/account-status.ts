/** How the poller is doing with one account: what health checks and people look at. Kept beside the protocol; nothing relies on it. */

import type { LearnedLimit } from '../rates/rate-share.ts';
import { isoTimeOf } from '../time/timestamp.ts';
import type { FieldEvidence } from './hint-fields.ts';

export interface AccountStatus {
  readonly account_id: string;
  /** When this was written, our clock, ISO 8601. */
  readonly written_at: string;
  /** Since then every project was read completely; undefined: one never was. */
  readonly last_complete_walk_at: string | undefined;
  /** The same, but a project that was never read completely counts from the time at which it became known. */
  readonly unread_since?: string | undefined;
  /** Projects that were tried and not read to their end, the longest first, at most `UNREAD_MAX`. Absent: none. */
  readonly unread_projects?: readonly UnreadProject[] | undefined;
  /** All of them, also those beyond `UNREAD_MAX`. */
  readonly unread_project_count?: number | undefined;
  readonly project_count: number;
  readonly open_operation_count: number;
  /** The poller's share of the account's rate limit. */
  readonly requests_per_minute: number;
  /** Oldest first, at most `POINTS_MAX`: what happened between two of these writes. */
  readonly points: readonly StatusPoint[];
  /** What the poller has found out about the upstream, for the process after it. */
  readonly learned?: LearnedAccount | undefined;
}

export interface UnreadProject {
  readonly project_id: string;
  /** Its last complete reading or, when there was none, since when it is known. ISO 8601. */
  readonly since: string;
  /** What the last attempt met: a kind of upstream error, `unfinished`, `item_unreadable` or `failed`. */
  readonly reason: string;
}

/** Names that people are told: more than these are no list any more, and the item is billed by the kilobyte. */
export const UNREAD_MAX = 20;

export function longestUnread(projects: readonly UnreadProject[]): readonly UnreadProject[] {
  return projects.toSorted((a, b) => {
    if (a.since !== b.since) return a.since < b.since ? -1 : 1;
    return a.project_id < b.project_id ? -1 : 1;
  });
}

export interface LearnedAccount {
  readonly limit: LearnedLimit;
  readonly hints: readonly FieldEvidence[];
}

export interface StatusPoint {
  /** The end of the time that it is about, milliseconds since the epoch. */
  readonly at_ms: number;
  /** How long that time was. */
  readonly duration_ms: number;
  readonly request_count: number;
  /** Refused for the rate (429). */
  readonly throttled_count: number;
  /** Transitions whose detection delay is known. */
  readonly transition_count: number;
  /** From the upstream's own time of the change to our observation; undefined without transitions. */
  readonly delay_p50_ms: number | undefined;
  readonly delay_p95_ms: number | undefined;
  readonly delay_max_ms: number | undefined;
}

/** Two hours of minutes: what somebody on call looks back at, in one small item. */
export const POINTS_MAX = 120;

export interface Tally {
  readonly requestCount: number;
  readonly throttledCount: number;
  readonly delaysMs: readonly number[];
}

type Derived =
  | 'written_at'
  | 'last_complete_walk_at'
  | 'unread_since'
  | 'unread_projects'
  | 'unread_project_count'
  | 'points';

export interface StatusSample extends Omit<AccountStatus, Derived> {
  readonly nowMs: number;
  /** When the tally began. */
  readonly sinceMs: number;
  /** Our clock; undefined while a project was never read completely. */
  readonly lastCompleteWalkAtMs: number | undefined;
  /** Our clock; see `unread_since`. */
  readonly unreadSinceMs?: number | undefined;
  /** The longest first. */
  readonly unread?: readonly UnreadProject[];
  readonly tally: Tally;
}

export function nextStatus(previous: AccountStatus | undefined, sample: StatusSample): AccountStatus {
  const { nowMs, sinceMs, lastCompleteWalkAtMs, unreadSinceMs, unread = [], tally, ...rest } = sample;
  const point: StatusPoint = {
    at_ms: nowMs,
    duration_ms: Math.max(0, nowMs - sinceMs),
    request_count: tally.requestCount,
    throttled_count: tally.throttledCount,
    transition_count: tally.delaysMs.length,
    ...delayQuantiles(tally.delaysMs),
  };
  return {
    ...rest,
    written_at: isoTimeOf(nowMs),
    last_complete_walk_at: isoTimeIfKnown(lastCompleteWalkAtMs),
    unread_since: isoTimeIfKnown(unreadSinceMs),
    ...(unread.length > 0 && {
      unread_projects: unread.slice(0, UNREAD_MAX),
      unread_project_count: unread.length,
    }),
    points: [...(previous?.points ?? []), point].slice(-POINTS_MAX),
  };
}

function isoTimeIfKnown(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : isoTimeOf(epochMs);
}

function delayQuantiles(delaysMs: readonly number[]) {
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { delay_p50_ms: at(0.5), delay_p95_ms: at(0.95), delay_max_ms: sorted.at(-1) };
}
