/**
 * Decides which share of the rate limit is used while something outside the bridge may use the rest. It falls after a
 * refusal (429), soon rises to nearly the refused share again, and tries that share again after longer and longer
 * times (ADR 0009).
 */

import { MINUTE_MS } from '../records/time.ts';

/** The share is plain data that is kept across restarts. */
export interface RateShare {
  /** This share (0 to 1) was in use at `changedAtMs`, and grows from there. */
  readonly share: number;
  readonly changedAtMs: number;
  /** This share was in use at the last refusal. It is approached, and tried again only when the hold is over. */
  readonly ceiling: number;
  readonly holdMs: number;
}

/**
 * The share is multiplied by this after each refusal. Two users of one limit that both fall by a factor and rise with
 * time end up with equal shares.
 */
const SHARE_KEPT = 0.8;

/** Below the last refused share, the share would grow from 0 to 1 in this time. */
const RECOVERY_MS_FULL = 10 * MINUTE_MS;

/**
 * Above the last refused share, the share would grow from 0 to 1 in this time: so slowly that the upstream's
 * one-minute window refuses us before we overshoot far.
 */
const TRIAL_MS_FULL = 20 * MINUTE_MS;

/** Up to this share of the last refused share it is safe enough to stay. */
const CEILING_SHARE = 0.95;

/**
 * A refusal may have been chance, so the refused share is tried again after this time. After each further refusal it
 * is tried after twice the time.
 */
const HOLD_MS_MIN = 5 * MINUTE_MS;

/** A hold takes at most this long, and so it takes at most this long to notice that a second user has gone. */
const HOLD_MS_MAX = 40 * MINUTE_MS;

/** A refusal at more than this multiple of the last refused share means that the other user takes less than before. */
const CEILING_RAISED = 1.1;

/** At least this share is used, so that something still gets through whatever others do. */
const SHARE_MIN = 0.1;

/** Refusals within this time count as one, because requests that were under way together are refused together. */
const REFUSALS_TOGETHER_MS = 5_000;

export const FULL_SHARE: RateShare = {
  share: 1,
  changedAtMs: 0,
  ceiling: 1,
  holdMs: 0,
};

export function shareAt({ share, changedAtMs, ceiling, holdMs }: RateShare, nowMs: number): number {
  const sinceMs = Math.max(0, nowMs - changedAtMs);
  const approached = Math.min(share + sinceMs / RECOVERY_MS_FULL, Math.max(share, CEILING_SHARE * ceiling));
  return Math.min(1, approached + Math.max(0, sinceMs - holdMs) / TRIAL_MS_FULL);
}

export function afterRefusal(before: RateShare, nowMs: number): RateShare {
  const sinceMs = Math.abs(nowMs - before.changedAtMs);
  if (sinceMs < REFUSALS_TOGETHER_MS) return before;
  // The upstream counts a minute, so the mean share of the last minute was too much.
  const refused = (shareAt(before, nowMs) + shareAt(before, nowMs - MINUTE_MS)) / 2;
  return {
    share: Math.max(SHARE_MIN, refused * SHARE_KEPT),
    changedAtMs: nowMs,
    ceiling: refused,
    holdMs: holdAfter(before, refused, sinceMs),
  };
}

function holdAfter({ ceiling, holdMs }: RateShare, refused: number, sinceMs: number): number {
  const isNews = refused >= 1 || refused > ceiling * CEILING_RAISED;
  if (isNews) return HOLD_MS_MIN;
  const wasTried = sinceMs >= holdMs;
  return wasTried ? Math.min(HOLD_MS_MAX, 2 * holdMs) : holdMs;
}

/** What refusals have taught, so that the next process need not be refused to learn it. */
export interface LearnedLimit {
  readonly share: RateShare;
  readonly pausedUntilMs: number;
  /** Whether only one request at a time leaves, to find out whether the upstream answers again. */
  readonly isProbing?: boolean | undefined;
}
