/**
 * Computes what one process knows of a rate limit that several processes spend. It knows at once what it has sent
 * itself. All processes add what they have sent to common counts, once a second, and from these it learns about the
 * others. Between two readings of the counts it assumes that the others go on at their pace.
 */

import { type RateLimit, type RateLimitState, spend, UNUSED, waitMs } from '../../core/rates/rate-limit.ts';

/** Counts start over with each window, so that they stay few and small. */
export const WINDOW_MS = 60_000;

const MINUTE_MS = 60_000;

/** What the others sent last says nothing about what they send after this time. */
const FORESIGHT_MS = 2_000;

/** Two counts that are closer together than this say little about a rate, because chance decides between them. */
const RATE_MS_MIN = 500;

/**
 * At most this many own requests are remembered with their times. More come together only while the counts cannot be
 * read, and then the oldest are merged into one state.
 */
const REMEMBERED_SENDS_MAX = 100;

/** A sent request counts less and less towards the recent rate. After this time it counts about a third. */
const RECENT_MS = 20_000;

export interface SharedUse {
  readonly state: RateLimitState;
  /** This was the state when the counts were last learned. `sentAtMs` has what was sent here since then. */
  readonly base: RateLimitState;
  readonly sentAtMs: readonly number[];
  /** `notedCount` and `otherCount` are about this window. */
  readonly window: number;
  /** This many requests were sent here and are in the counts. */
  readonly notedCount: number;
  /** Others are known to have sent this many requests. */
  readonly otherCount: number;
  readonly learnedAtMs: number;
  readonly othersPerMs: number;
  /** This fading count of what all processes have sent was true at `recentAtMs`. */
  readonly recentCount: number;
  readonly recentAtMs: number;
}

export const NEVER_USED: SharedUse = {
  state: UNUSED,
  base: UNUSED,
  sentAtMs: [],
  window: 0,
  notedCount: 0,
  otherCount: 0,
  learnedAtMs: Number.NEGATIVE_INFINITY,
  othersPerMs: 0,
  recentCount: 0,
  recentAtMs: 0,
};

/**
 * Returns how long the next request has to wait, in ms, after `leavingCount` requests that are about to leave; 0 when
 * it may leave now.
 */
export function sharedWaitMs(limit: RateLimit, use: SharedUse, nowMs: number, leavingCount = 0): number {
  const assumed = leavingCount + assumedCount(use, nowMs);
  return waitMs(limit, assumed > 0 ? spend(limit, use.state, nowMs, assumed) : use.state, nowMs);
}

/** Returns the use after one request has left here. */
export function spentHere(limit: RateLimit, use: SharedUse, nowMs: number): SharedUse {
  const state = spend(limit, use.state, nowMs);
  const isMuch = use.sentAtMs.length >= REMEMBERED_SENDS_MAX;
  const since = isMuch ? { base: state, sentAtMs: [] } : { sentAtMs: [...use.sentAtMs, nowMs] };
  return { ...recently(use, nowMs, 1), state, ...since };
}

export interface Learned {
  readonly window: number;
  /** The sum has what all processes have counted in the window, this one included. */
  readonly sum: number;
  /** This process has just added this part of the sum. */
  readonly addedCount: number;
}

export function learned(
  limit: RateLimit,
  use: SharedUse,
  { window, sum, addedCount }: Learned,
  nowMs: number,
): SharedUse {
  const isSameWindow = use.window === window;
  const notedCount = (isSameWindow ? use.notedCount : 0) + addedCount;
  const otherCount = Math.max(0, sum - notedCount);
  const windowAtMs = window * WINDOW_MS;
  const isStranger = use.learnedAtMs < windowAtMs - WINDOW_MS;
  const newCount = Math.max(0, otherCount - (isSameWindow ? use.otherCount : 0));
  const known = { ...use, window, notedCount, otherCount, learnedAtMs: nowMs };
  if (isStranger) {
    // It is not known when in the window the others sent, so they are taken to have sent as evenly as the limit
    // allows.
    const nextAtMs = Math.max(use.state.nextAtMs, windowAtMs + sum * limit.intervalMs);
    return settledAs({ ...use.state, nextAtMs }, { ...recently(known, nowMs, otherCount), othersPerMs: 0 });
  }
  return settledAs(replayed(limit, use, newCount), {
    ...recently(known, nowMs, newCount),
    // A burst can exceed the limit for a moment, but the others cannot keep up such a rate.
    othersPerMs: Math.min(1 / limit.intervalMs, newCount / Math.max(RATE_MS_MIN, nowMs - use.learnedAtMs)),
  });
}

/**
 * Computes the state anew, with what the others sent since the last look before what was sent here. So requests that
 * the others did not use in between still count as free.
 */
function replayed(limit: RateLimit, use: SharedUse, otherCount: number): RateLimitState {
  if (otherCount === 0) return use.state;
  const byOthers = spend(limit, use.base, use.learnedAtMs, otherCount);
  const all = use.sentAtMs.reduce((state, atMs) => spend(limit, state, atMs), byOthers);
  return { ...all, pausedUntilMs: use.state.pausedUntilMs };
}

function settledAs(state: RateLimitState, use: SharedUse): SharedUse {
  return { ...use, state, base: state, sentAtMs: [] };
}

/** Returns how many requests all processes send in a minute, at the pace of the last seconds. */
export function recentPerMinute(use: SharedUse, nowMs: number): number {
  return ((recentCount(use, nowMs) + assumedCount(use, nowMs)) * MINUTE_MS) / RECENT_MS;
}

function recentCount({ recentCount: count, recentAtMs }: SharedUse, nowMs: number): number {
  return count * Math.exp(-Math.max(0, nowMs - recentAtMs) / RECENT_MS);
}

/** Returns how many requests the others have sent since the counts were learned, if they go on as they did. */
function assumedCount({ othersPerMs, learnedAtMs }: SharedUse, nowMs: number): number {
  const sinceMs = Math.max(0, nowMs - learnedAtMs);
  return sinceMs > FORESIGHT_MS ? 0 : othersPerMs * sinceMs;
}

function recently(use: SharedUse, nowMs: number, newCount: number): SharedUse {
  return {
    ...use,
    recentCount: recentCount(use, nowMs) + newCount,
    recentAtMs: nowMs,
  };
}
