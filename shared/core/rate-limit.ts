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

export const UNUSED: RateLimitState = { nextAtMs: 0, pausedUntilMs: 0 };

/**
 * In any 60 s at most `requestsPerMinute` leave, whether the upstream counts in a sliding window or fills a bucket:
 * the burst is part of the minute (60 x rate + burst <= requestsPerMinute).
 */
export function rateLimitOf(requestsPerMinute: number, burst: number): RateLimit {
  const burstRequests = Math.max(1, Math.min(burst, Math.floor(requestsPerMinute / 2)));
  const intervalMs = MINUTE_MS / (requestsPerMinute - burstRequests);
  return { intervalMs, toleranceMs: intervalMs * (burstRequests - 1) };
}

/** How long the next request has to wait; 0 when it may leave. */
export function waitMs(limit: RateLimit, state: RateLimitState, nowMs: number): number {
  return Math.max(0, state.nextAtMs - limit.toleranceMs - nowMs, state.pausedUntilMs - nowMs);
}

/** The state after a request left at `nowMs`. */
export function spend(limit: RateLimit, state: RateLimitState, nowMs: number): RateLimitState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, nowMs) + limit.intervalMs };
}
