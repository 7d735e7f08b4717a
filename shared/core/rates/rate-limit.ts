/** A token bucket (GCRA) that keeps "so many requests a minute" under either reading of it. */

import { MINUTE_MS } from '../time/durations.ts';

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

/** The limit with so much of it used; the burst shrinks with the rate. */
export function shareOf(limit: RateLimit, share: number): RateLimit {
  return { intervalMs: limit.intervalMs / share, toleranceMs: limit.toleranceMs };
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

/** The state after requests left at `nowMs`, whether there was room for them or not. */
export function spend(
  limit: RateLimit,
  state: RateLimitState,
  nowMs: number,
  requestCount = 1,
): RateLimitState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, nowMs) + requestCount * limit.intervalMs };
}

/** The state in which nothing may leave for a minute: whatever left before is in nobody's minute then. */
export function usedUp({ toleranceMs }: RateLimit, nowMs: number): RateLimitState {
  return { nextAtMs: nowMs + toleranceMs + MINUTE_MS, pausedUntilMs: 0 };
}

/** The state with no more owed than that. */
export function forgive(limit: RateLimit, state: RateLimitState, nowMs: number): RateLimitState {
  return { ...state, nextAtMs: Math.min(state.nextAtMs, usedUp(limit, nowMs).nextAtMs) };
}

/** The state as if the last request had not left: what it would have been before is at most this. */
export function unspend(limit: RateLimit, state: RateLimitState): RateLimitState {
  return { ...state, nextAtMs: state.nextAtMs - limit.intervalMs };
}
