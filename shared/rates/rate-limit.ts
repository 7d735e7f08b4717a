/**
 * Keeps a limit of requests a minute with a token bucket (generic cell rate algorithm), whichever way the upstream
 * counts the minute.
 */

import { MINUTE_MS } from '../records/time.ts';

export interface RateLimit {
  /** Two requests of a steady stream are this far apart. */
  readonly intervalMs: number;
  /** A burst may run this far ahead of the steady stream. */
  readonly toleranceMs: number;
}

export interface RateLimitState {
  /**
   * The next request would leave at this time if all left evenly. It is the algorithm's theoretical arrival time, by
   * our clock.
   */
  readonly nextAtMs: number;
  /** Nothing leaves before this time, because the upstream asked for a pause. */
  readonly pausedUntilMs: number;
}

/** Returns the limit of which only `share` (0 to 1) is used. The burst shrinks with the rate. */
export function shareOf(limit: RateLimit, share: number): RateLimit {
  return { intervalMs: limit.intervalMs / share, toleranceMs: limit.toleranceMs };
}

export const UNUSED: RateLimitState = { nextAtMs: 0, pausedUntilMs: 0 };

/**
 * Returns the state of a process that does not know what left before it: nothing is saved up for a burst. If the
 * previous process kept the limit, the two together keep it, however often processes end and begin.
 */
export function startEmpty({ intervalMs, toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + intervalMs + toleranceMs, pausedUntilMs: 0 };
}

/**
 * The burst is at most this share of the minute. With more, a steady stream would get less than nine tenths of the
 * limit.
 */
const BURST_SHARE_MAX = 0.1;

/** Below this rate a single request would already be a burst. */
const REQUESTS_PER_MINUTE_MIN = 2;

/**
 * Returns a limit with which at most `requestsPerMinute` leave in any 60 s, whether the upstream counts in a sliding
 * window or fills a bucket: the burst belongs to the minute (60 s x rate + burst <= requestsPerMinute). Throws
 * `RangeError` below two a minute.
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

/**
 * Returns the milliseconds until the next request may leave, or 0 when it may leave now. They are whole, because
 * timers cut fractions off.
 */
export function waitMs(limit: RateLimit, state: RateLimitState, nowMs: number): number {
  const earliestMs = Math.max(state.nextAtMs - limit.toleranceMs, state.pausedUntilMs);
  return Math.max(0, Math.ceil(earliestMs - nowMs));
}

/** Returns the state after requests left at `nowMs`, whether or not the limit had room for them. */
export function spend(
  limit: RateLimit,
  state: RateLimitState,
  nowMs: number,
  requestCount = 1,
): RateLimitState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, nowMs) + requestCount * limit.intervalMs };
}

/** Returns the state in which nothing may leave for a minute. After that, no window of a minute holds what left before. */
export function usedUp({ toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + toleranceMs + MINUTE_MS, pausedUntilMs: 0 };
}

/** Returns the state in which at most as much is owed as in `usedUp`. */
export function forgive(limit: RateLimit, state: RateLimitState, nowMs: number): RateLimitState {
  return { ...state, nextAtMs: Math.min(state.nextAtMs, usedUp(limit, nowMs).nextAtMs) };
}

/** Returns the state as if the last request had not left. It allows no more than the state before that request did. */
export function unspend(limit: RateLimit, state: RateLimitState): RateLimitState {
  return { ...state, nextAtMs: state.nextAtMs - limit.intervalMs };
}
