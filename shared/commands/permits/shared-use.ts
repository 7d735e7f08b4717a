/**
 * What one process knows of a rate limit that several processes spend: what it has sent itself, at once, and what the others have
 * sent, from counts that all of them keep together and that each learns a second late. Until it learns, it assumes that the others
 * go on as they did.
 */

import { type RateLimit, type RateLimitState, spend, UNUSED, waitMs } from '../../core/rates/rate-limit.ts';

/** Counts start over with each window, so that they stay few and small. */
export const WINDOW_MS = 60_000;

const MINUTE_MS = 60_000;

/** Beyond this time what the others did last says nothing about what they do now. */
const FORESIGHT_MS = 2_000;

/** A shorter time between two counts would make a rate of chance. */
const RATE_MS_MIN = 500;

/** Should the counts not be there for a while, the oldest requests are no longer told apart from what was before them. */
const REMEMBERED_SENDS_MAX = 100;

/** What was sent counts less and less, and hardly at all after this time. */
const RECENT_MS = 20_000;

export interface SharedUse {
  readonly state: RateLimitState;
  /** As it was when the counts were last learned, and what was sent here since then. */
  readonly base: RateLimitState;
  readonly sentAtMs: readonly number[];
  /** The window that the next two are about. */
  readonly window: number;
  /** Sent here and counted. */
  readonly notedCount: number;
  /** Sent by others, as far as it is known. */
  readonly otherCount: number;
  readonly learnedAtMs: number;
  readonly othersPerMs: number;
  /** By everybody, fading; as it was at `recentAtMs`. */
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

/** How long the next request has to wait, milliseconds, after so many that are about to leave; 0 when it may leave. */
export function sharedWaitMs(limit: RateLimit, use: SharedUse, nowMs: number, leavingCount = 0): number {
  const assumed = leavingCount + assumedCount(use, nowMs);
  return waitMs(limit, assumed > 0 ? spend(limit, use.state, nowMs, assumed) : use.state, nowMs);
}

/** One request leaves here. */
export function spentHere(limit: RateLimit, use: SharedUse, nowMs: number): SharedUse {
  const state = spend(limit, use.state, nowMs);
  const isMuch = use.sentAtMs.length >= REMEMBERED_SENDS_MAX;
  const since = isMuch ? { base: state, sentAtMs: [] } : { sentAtMs: [...use.sentAtMs, nowMs] };
  return { ...recently(use, nowMs, 1), state, ...since };
}

export interface Learned {
  readonly window: number;
  /** All that anybody has counted in the window, this process included. */
  readonly sum: number;
  /** What this process has just added to it. */
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
    // Nobody knows when in the window the others sent: as evenly as the limit allows.
    const nextAtMs = Math.max(use.state.nextAtMs, windowAtMs + sum * limit.intervalMs);
    return settledAs({ ...use.state, nextAtMs }, { ...recently(known, nowMs, otherCount), othersPerMs: 0 });
  }
  return settledAs(replayed(limit, use, newCount), {
    ...recently(known, nowMs, newCount),
    // More than the limit lasts for a burst and no longer.
    othersPerMs: Math.min(1 / limit.intervalMs, newCount / Math.max(RATE_MS_MIN, nowMs - use.learnedAtMs)),
  });
}

/** What the others sent since the last look comes first: so what was free meanwhile has made up for it. */
function replayed(limit: RateLimit, use: SharedUse, otherCount: number): RateLimitState {
  if (otherCount === 0) return use.state;
  const byOthers = spend(limit, use.base, use.learnedAtMs, otherCount);
  const all = use.sentAtMs.reduce((state, atMs) => spend(limit, state, atMs), byOthers);
  return { ...all, pausedUntilMs: use.state.pausedUntilMs };
}

function settledAs(state: RateLimitState, use: SharedUse): SharedUse {
  return { ...use, state, base: state, sentAtMs: [] };
}

/** What is sent a minute at the pace of the last seconds, by everybody. */
export function recentPerMinute(use: SharedUse, nowMs: number): number {
  return ((recentCount(use, nowMs) + assumedCount(use, nowMs)) * MINUTE_MS) / RECENT_MS;
}

function recentCount({ recentCount: count, recentAtMs }: SharedUse, nowMs: number): number {
  return count * Math.exp(-Math.max(0, nowMs - recentAtMs) / RECENT_MS);
}

/** What the others have sent since the counts were learned, if they go on as they did. */
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
