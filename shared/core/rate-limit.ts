/** A token bucket (GCRA) that keeps "so many requests a minute" under either reading of it. */

const MINUTE_MS = 60_000;

export interface RateLimit {
  /** Between two requests of a steady stream. */
  readonly intervalMs: number;
  /** How far ahead of the steady stream a burst may run. */
  readonly toleranceMs: number;
}

export interface RateLimitState {
  /** The theoretical time of arrival of the next request, by our clock. */
  readonly nextAtMs: number;
  /** Nothing leaves before: the upstream said so. */
  readonly pausedUntilMs: number;
}

/** How much of the limit is used, because somebody else seems to use the rest. Plain data: it is kept across restarts. */
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

/** The limit with so much of it used; the burst shrinks with the rate. */
export function shareOf(limit: RateLimit, share: number): RateLimit {
  return { intervalMs: limit.intervalMs / share, toleranceMs: limit.toleranceMs };
}

/** What refusals have taught, so that the next process need not be refused to know it. */
export interface LearnedLimit {
  readonly share: RateShare;
  readonly pausedUntilMs: number;
}

export const UNUSED: RateLimitState = { nextAtMs: 0, pausedUntilMs: 0 };

/**
 * The state of whoever does not know what left before: nothing is saved up for a burst. Whatever an earlier process sent
 * within the limit, the two together stay within it, however often processes end and begin.
 */
export function startEmpty({ intervalMs, toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + intervalMs + toleranceMs, pausedUntilMs: 0 };
}

/** The burst is taken out of the minute: a larger share would leave a steady stream less than nine tenths of it. */
const BURST_SHARE_MAX = 0.1;

/** Below, no request could be told from a burst. */
const REQUESTS_PER_MINUTE_MIN = 2;

/**
 * In any 60 s at most `requestsPerMinute` leave, whether the upstream counts in a sliding window or fills a bucket:
 * the burst is part of the minute (60 x rate + burst <= requestsPerMinute).
 */
export function rateLimitOf(requestsPerMinute: number, burst: number): RateLimit {
  if (!(requestsPerMinute >= REQUESTS_PER_MINUTE_MIN))
    throw new RangeError(
      `A rate limit needs at least ${REQUESTS_PER_MINUTE_MIN} a minute, not ${requestsPerMinute}`,
    );
  const burstRequests = Math.max(1, Math.min(burst, Math.floor(requestsPerMinute * BURST_SHARE_MAX)));
  const intervalMs = MINUTE_MS / (requestsPerMinute - burstRequests);
  return { intervalMs, toleranceMs: intervalMs * (burstRequests - 1) };
}

/** How long the next request has to wait; 0 when it may leave. Whole milliseconds, because timers cut fractions off. */
export function waitMs(limit: RateLimit, state: RateLimitState, nowMs: number): number {
  const earliestMs = Math.max(state.nextAtMs - limit.toleranceMs, state.pausedUntilMs);
  return Math.max(0, Math.ceil(earliestMs - nowMs));
}

/** The state after a request left at `nowMs`. */
export function spend(limit: RateLimit, state: RateLimitState, nowMs: number): RateLimitState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, nowMs) + limit.intervalMs };
}

/** The state as if the last request had not left: what it would have been before is at most this. */
export function unspend(limit: RateLimit, state: RateLimitState): RateLimitState {
  return { ...state, nextAtMs: state.nextAtMs - limit.intervalMs };
}
