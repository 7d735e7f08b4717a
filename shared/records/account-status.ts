/**
 * Derives how the poller is doing with one account, for health checks and people, and keeps what the poller has
 * learned of the fields of the project list. No record depends on it.
 */

import * as z from 'zod';
import type { Unchangeable } from './journal-entries.ts';
import { isoTimeOf } from './time.ts';

const count = z.number().nonnegative();

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

const fieldEvidence = z.object({
  name: z.string(),
  /** Counts the transitions that the field has shown and missed. The counts fade, so they need not be whole numbers. */
  recall: z.object({ foundCount: count, missedCount: count }),
  /** Counts the moves of the field that a transition caused. */
  hitCount: count,
  /** Counts all moves of the field. */
  moveCount: count,
});

export type FieldEvidence = Unchangeable<z.output<typeof fieldEvidence>>;

/** The poller keeps this for the next invocation: its limit (`LearnedLimit`), and what the fields of the project list show. */
const learned = z.object({
  limit: z.object({
    share: z.object({
      share: z.number().gt(0).lte(1),
      changedAtMs: count,
      ceiling: z.number(),
      holdMs: count,
    }),
    pausedUntilMs: count,
    isProbing: z.boolean().optional(),
  }),
  hints: z.array(fieldEvidence),
});

const unreadProject = z.object({
  project_id: z.string(),
  /** The project was last read completely at this time or, when it never was, became known then. ISO 8601. */
  since: time,
  /** Says how its last poll ended: with a kind of upstream error, `unfinished`, `item_unreadable` or `failed`. */
  reason: z.string(),
  /**
   * Each poll of the project has failed since this time, while other requests of the account were answered. ISO 8601.
   * It is absent when a version wrote the status that did not keep it.
   */
  failing_since: time.optional(),
});

export type UnreadProject = Unchangeable<z.output<typeof unreadProject>>;

/** The upstream refuses the key; the secret with the key cannot be read; or no poll has succeeded for minutes. */
const trouble = z.enum(['key_rejected', 'key_unreadable', 'upstream_failing']);

export type AccountTrouble = z.output<typeof trouble>;

/**
 * At most this many unread projects are named. People do not read a longer list, and the item is billed by the
 * kilobyte.
 */
const UNREAD_MAX = 20;

/** The status of an account, but for its points, which are stored in a shorter form. */
export const statusFields = z.object({
  account_id: z.string(),
  /** The status was written at this time by our clock, ISO 8601. */
  written_at: time,
  /** Every project was read completely at this time or later. It is undefined while the process has not read them all. */
  last_complete_walk_at: time.optional(),
  /** As `last_complete_walk_at`, except that a project that was never read completely counts from when it became known. */
  unread_since: time.optional(),
  /** The last poll of these projects did not read them to the end. The longest unread comes first. It is absent when there are none. */
  unread_projects: z.array(unreadProject).max(UNREAD_MAX).optional(),
  /** Counts all such projects, including those beyond `UNREAD_MAX`. */
  unread_project_count: count.optional(),
  /** No poll of the account has succeeded since this time, ISO 8601. It is absent when the last one did. */
  failing_since: time.optional(),
  /** Nothing of the account is read for this reason. It is absent when there is none. */
  trouble: trouble.optional(),
  project_count: z.number(),
  open_operation_count: z.number(),
  /** The poller may send this many requests a minute for the account. */
  requests_per_minute: z.number(),
  learned: learned.optional(),
});

type StatusFields = Unchangeable<z.output<typeof statusFields>>;

export interface AccountStatus extends StatusFields {
  /**
   * The oldest point comes first, and at most `POINTS_MAX` are kept. Each says what happened between two writes of
   * the status.
   */
  readonly points: readonly StatusPoint[];
}

export function longestUnread(projects: readonly UnreadProject[]): readonly UnreadProject[] {
  return projects.toSorted((a, b) => {
    if (a.since !== b.since) return a.since < b.since ? -1 : 1;
    return a.project_id < b.project_id ? -1 : 1;
  });
}

export interface StatusPoint {
  /** The time span ended at this time, in milliseconds since the epoch. */
  readonly at_ms: number;
  readonly duration_ms: number;
  readonly request_count: number;
  /** The upstream refused this many requests for their rate (429). */
  readonly throttled_count: number;
  /** This many recorded transitions have a known detection delay. */
  readonly transition_count: number;
  /**
   * The delays count from the upstream's own time of the change to our observation. They are undefined without
   * transitions.
   */
  readonly delay_p50_ms: number | undefined;
  readonly delay_p95_ms: number | undefined;
  readonly delay_max_ms: number | undefined;
}

/** At one point a minute these are two hours. People on call look back that far, and the item stays small. */
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
  /** The tally began at this time, by our clock. */
  readonly sinceMs: number;
  /**
   * Every project was read completely since this time, by our clock. It is undefined while a project was never read
   * completely.
   */
  readonly lastCompleteWalkAtMs: number | undefined;
  /** The time that becomes `unread_since`, by our clock. */
  readonly unreadSinceMs?: number | undefined;
  /** The longest unread project comes first. */
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

export function isoTimeIfKnown(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : isoTimeOf(epochMs);
}

function delayQuantiles(delaysMs: readonly number[]) {
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { delay_p50_ms: at(0.5), delay_p95_ms: at(0.95), delay_max_ms: sorted.at(-1) };
}
