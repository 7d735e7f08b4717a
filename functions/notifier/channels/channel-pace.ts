/** How many messages a channel takes and how long it rests after a failure: pure, and safe from clocks that were ahead. */

export interface ChannelPace {
  /** At most this many messages start within `perMs`. */
  readonly messageCountMax: number;
  readonly perMs: number;
  /** What one message can name; what is beyond it goes into the next one. */
  readonly noticesPerMessageMax: number;
}

/** Times at which messages started that still count. A time far ahead was written by a clock that was wrong. */
export function countedSends(
  sentAtMs: readonly number[],
  { perMs }: ChannelPace,
  nowMs: number,
): readonly number[] {
  return sentAtMs.filter((atMs) => atMs > nowMs - perMs && atMs <= nowMs + perMs);
}

export function freeSlots(sentAtMs: readonly number[], pace: ChannelPace, nowMs: number): number {
  return Math.max(0, pace.messageCountMax - countedSends(sentAtMs, pace, nowMs).length);
}

const FIRST_PAUSE_MS = 5_000;

/** A channel that is asked to be silent for longer is probed all the same: nobody knows whether it still means it. */
export const PAUSE_MS_MAX = 5 * 60_000;

/** Doubles with every failure, and is as long as the channel asks, up to five minutes. */
export function pauseAfter(failuresInRow: number, retryAfterMs = 0): number {
  const ownMs = FIRST_PAUSE_MS * 2 ** Math.min(failuresInRow - 1, 10);
  return Math.min(PAUSE_MS_MAX, Math.max(ownMs, retryAfterMs));
}

/** Whether an instant that was stored lies ahead. One that is further ahead than it can be is a wrong clock's. */
export function isAhead(instantMs: number, nowMs: number, aheadMsMax: number): boolean {
  return instantMs > nowMs && instantMs <= nowMs + aheadMsMax;
}
