/**
 * Follows how many permits the rate limit has saved up, so that the planner can keep some of them for what the project
 * list shows next. A permit that waits in the bucket is not lost: it leaves at once when a project has moved.
 */

export interface SparePermits {
  /** A request leaves now. */
  spend(nowMs: number): void;
  /** Returns when this number of permits is saved up, if no request leaves before, in milliseconds since the epoch. */
  savedAtMs(count: number): number;
}

/** The bucket fills a little more slowly than the limit says, because its burst belongs to the same minute. */
const FILL_SHARE = 0.97;

/**
 * The bucket is assumed to hold at most this number of permits. That of a usual rate holds six. At fewer than 80 requests
 * a minute it holds two or three, and then fewer permits are kept than this says.
 */
const SAVED_MAX = 4;

export function createSparePermits(requestsPerMinute: number): SparePermits {
  const intervalMs = 60_000 / (FILL_SHARE * requestsPerMinute);
  /** The bucket would be empty at this time if no request had left since. */
  let emptyAtMs = Number.NEGATIVE_INFINITY;

  return {
    spend(nowMs) {
      const spentAtMs = Math.max(emptyAtMs, nowMs - SAVED_MAX * intervalMs) + intervalMs;
      // The bucket held this permit, so it is empty now at the latest. Otherwise each busy hour, in which permits come a
      // little faster than assumed, would count as minutes for which the bucket has to fill first.
      emptyAtMs = Math.min(nowMs, spentAtMs);
    },
    savedAtMs: (count) => emptyAtMs + count * intervalMs,
  };
}
