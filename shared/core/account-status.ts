/** How the poller is doing with one account: what health checks and people look at. Kept beside the protocol; nothing relies on it. */

import type { FieldEvidence } from './hint-fields.ts';
import type { LearnedLimit } from './rate-share.ts';

export interface AccountStatus {
  readonly account_id: string;
  /** When this was written, our clock, ISO 8601. */
  readonly written_at: string;
  /** Since then every project was read completely; undefined: one never was. */
  readonly last_complete_walk_at: string | undefined;
  readonly project_count: number;
  readonly open_operation_count: number;
  /** The poller's share of the account's rate limit. */
  readonly requests_per_minute: number;
  /** Oldest first, at most `POINTS_MAX`: what happened between two of these writes. */
  readonly points: readonly StatusPoint[];
  /** What the poller has found out about the upstream, for the process after it. */
  readonly learned?: LearnedAccount | undefined;
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

export interface StatusSample extends Omit<AccountStatus, 'written_at' | 'last_complete_walk_at' | 'points'> {
  readonly nowMs: number;
  /** When the tally began. */
  readonly sinceMs: number;
  /** Our clock; undefined while a project was never read completely. */
  readonly lastCompleteWalkAtMs: number | undefined;
  readonly tally: Tally;
}

export function nextStatus(previous: AccountStatus | undefined, sample: StatusSample): AccountStatus {
  const { nowMs, sinceMs, lastCompleteWalkAtMs, tally, ...rest } = sample;
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
    written_at: new Date(nowMs).toISOString(),
    last_complete_walk_at:
      lastCompleteWalkAtMs === undefined ? undefined : new Date(lastCompleteWalkAtMs).toISOString(),
    points: [...(previous?.points ?? []), point].slice(-POINTS_MAX),
  };
}

function delayQuantiles(delaysMs: readonly number[]) {
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { delay_p50_ms: at(0.5), delay_p95_ms: at(0.95), delay_max_ms: sorted.at(-1) };
}
