/**
 * How much of the rate limit is used while somebody else uses the rest: less after a refusal (429), nearly all of what was not
 * refused soon after, and what was refused later and later (ADR 0009).
 */

import { MINUTE_MS } from '../time/durations.ts';

/** Plain data: it is kept across restarts. */
export interface RateShare {
  /** In use at `changedAtMs`; it grows from there. */
  readonly share: number;
  readonly changedAtMs: number;
  /** The share in use at the last refusal: it is approached, and not tried again until the hold is over. */
  readonly ceiling: number;
  readonly holdMs: number;
}

/** Less after each refusal, more with time: two users of one limit that both do so end up with fair parts of it. */
const SHARE_KEPT = 0.8;

/** From nothing to all, as far as it was not refused. */
const RECOVERY_MS_FULL = 10 * MINUTE_MS;

/** Beyond the last refusal, only as fast as a window of a minute can say no to. */
const TRIAL_MS_FULL = 20 * MINUTE_MS;

/** So near to the last refusal is safe enough to stay at. */
const CEILING_SHARE = 0.95;

/** A refusal may have been chance, so what was refused is soon tried again; each time it is refused, after twice as long. */
const HOLD_MS_MIN = 5 * MINUTE_MS;

/** So late it is noticed, at the latest, that a second user has gone. */
const HOLD_MS_MAX = 40 * MINUTE_MS;

/** So far beyond the last refusal it is not the same refusal again: the other user takes less than before. */
const CEILING_RAISED = 1.1;

/** Whatever others do, something still gets through. */
const SHARE_MIN = 0.1;

/** Requests that were under way together are refused together, and say it once. */
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
  // The upstream counts a minute, so it was the mean of one that was too much.
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

/** What refusals have taught, so that the next process need not be refused to know it. */
export interface LearnedLimit {
  readonly share: RateShare;
  readonly pausedUntilMs: number;
  /** One request at a time asks whether the upstream answers again. */
  readonly isProbing?: boolean | undefined;
}
