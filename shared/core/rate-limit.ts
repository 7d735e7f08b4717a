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

/** How much of the limit is used, because somebody else seems to use the rest. */
export interface RateShare {
  readonly share: number;
  readonly changedAtMs: number;
}

export const FULL_SHARE: RateShare = { share: 1, changedAtMs: Number.NEGATIVE_INFINITY };

/** Less after each refusal, more with time: two users of one limit that both do so end up with fair parts of it. */
const SHARE_KEPT = 0.8;

/** From half to all in five minutes: slow enough that a lasting second user costs a refusal a minute, not a storm. */
const RECOVERY_MS_FULL = 10 * MINUTE_MS;

/** Whatever others do, something still gets through. */
const SHARE_MIN = 0.1;

/** Requests that were under way together are refused together, and say it once. */
const REFUSALS_TOGETHER_MS = 2_000;

export function shareAt({ share, changedAtMs }: RateShare, nowMs: number): number {
  return Math.min(1, share + Math.max(0, nowMs - changedAtMs) / RECOVERY_MS_FULL);
}

export function afterRefusal(share: RateShare, nowMs: number): RateShare {
  if (Math.abs(nowMs - share.changedAtMs) < REFUSALS_TOGETHER_MS) return share;
  return { share: Math.max(SHARE_MIN, shareAt(share, nowMs) * SHARE_KEPT), changedAtMs: nowMs };
}

/** The limit with so much of it used; the burst shrinks with the rate. */
export function shareOf(limit: RateLimit, share: number): RateLimit {
  return { intervalMs: limit.intervalMs / share, toleranceMs: limit.toleranceMs };
}

export const UNUSED: RateLimitState = { nextAtMs: 0, pausedUntilMs: 0 };

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
