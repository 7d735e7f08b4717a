/**
 * Computes how many messages a channel takes, and how long it rests after a failure. It is pure, and safe from times
 * that a wrong clock wrote.
 */

export interface ChannelPace {
  /** At most this many messages may start within `perMs`. */
  readonly messageCountMax: number;
  readonly perMs: number;
  /** One message can name at most this many notices. Further ones go into the next message. */
  readonly noticesPerMessageMax: number;
}

/**
 * Returns the starts of messages that still count against the pace. A start far in the future was written by a wrong
 * clock and does not count.
 */
export function countedSends(
  sentAtMs: readonly number[],
  { perMs }: ChannelPace,
  nowMs: number,
): readonly number[] {
  return sentAtMs.filter((atMs) => atMs > nowMs - perMs && atMs <= nowMs + perMs);
}

/** Returns how many messages may start now. */
export function freeSlots(sentAtMs: readonly number[], pace: ChannelPace, nowMs: number): number {
  return Math.max(0, pace.messageCountMax - countedSends(sentAtMs, pace, nowMs).length);
}

/** The channel rests for this time after the first of several consecutive failures. */
const FIRST_PAUSE_MS = 5_000;

/** A channel that asks for a longer pause is probed after this time all the same, because its answer may be out of date. */
export const PAUSE_MS_MAX = 5 * 60_000;

/**
 * Returns the pause after a failure, in ms. It doubles with every consecutive failure, is at least what the channel
 * asks for, and is at most five minutes.
 */
export function pauseAfter(failuresInRow: number, retryAfterMs = 0): number {
  const ownMs = FIRST_PAUSE_MS * 2 ** Math.min(failuresInRow - 1, 10);
  return Math.min(PAUSE_MS_MAX, Math.max(ownMs, retryAfterMs));
}

/** The clocks of two processes differ by less than this. AWS keeps its own within milliseconds. */
const CLOCKS_APART_MS_MAX = 60_000;

/**
 * Returns whether a stored time was written by a wrong clock. Another process may have written what lies a moment ahead, so
 * only a time that is more than a minute ahead is wrong, and holds nothing back.
 */
export function isByWrongClock(instantMs: number, nowMs: number): boolean {
  return instantMs > nowMs + CLOCKS_APART_MS_MAX;
}

/**
 * Returns whether a stored instant lies in the future. An instant that is further ahead than `aheadMsMax` was written
 * by a wrong clock and does not.
 */
export function isAhead(instantMs: number, nowMs: number, aheadMsMax: number): boolean {
  return instantMs > nowMs && instantMs <= nowMs + aheadMsMax;
}
