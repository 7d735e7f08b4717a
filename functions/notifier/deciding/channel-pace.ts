/**
 * Computes how many messages a channel takes, how long it rests after a failure, and when it may interrupt people
 * again.
 */

import type { Notice, NoticeKind } from './notice.ts';

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

/** Two messages are at most this far apart while something waits, so that a bad day is reported every 40 minutes. */
const GATHER_MS_MAX = 40 * 60_000;

/** These say that the bridge itself or its channels are blind, or that somebody waits for an answer. They wait for nothing, and nothing waits for them. */
const NEVER_GATHERED: ReadonlySet<NoticeKind> = new Set([
  'account_degraded',
  'account_recovered',
  'channel_deaf',
  'channel_back',
  'muted_all',
  'approval_wanted',
  'approval_ended',
]);

export interface Interruptions {
  /** People were last interrupted at this time. It is undefined when they have not been. */
  readonly interrupted_at_ms?: number | undefined;
  /** After that, notices are gathered for this long. */
  readonly gather_ms?: number | undefined;
}

export function isNeverGathered(kind: NoticeKind): boolean {
  return NEVER_GATHERED.has(kind);
}

/**
 * Returns whether others are gathered after a message with this notice. Good news sends nobody to the console, and
 * what is critical is told beside the gathering.
 */
export function startsGathering({ kind, severity }: Notice): boolean {
  return severity === 'warning' && !isNeverGathered(kind);
}

/** Critical messages of a channel begin this far apart. The sweep once a minute sends what has come in between. */
const CRITICAL_APART_MS = 60_000;

/** Returns whether a critical message went out so lately that the next one waits for the sweep. */
export function isJustTold(criticalAtMs: number | undefined, nowMs: number): boolean {
  return criticalAtMs !== undefined && Math.abs(nowMs - criticalAtMs) < CRITICAL_APART_MS;
}

/** A channel that can join messages rings at most this often, because whoever was woken is awake. */
const RINGS_APART_MS_MAX = 10 * 60_000;

/**
 * Returns whether the channel rang so lately that what comes now joins the message that rang. Where alerts are gathered
 * for a shorter time, the channel may ring as often as that, and where none are gathered, always.
 */
export function hasJustRung(rungAtMs: number, gatherMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - rungAtMs) < Math.min(RINGS_APART_MS_MAX, gatherMs);
}

/** Returns whether notices are being gathered now. */
export function isGathering({ interrupted_at_ms, gather_ms = 0 }: Interruptions, nowMs: number): boolean {
  if (interrupted_at_ms === undefined || isByWrongClock(interrupted_at_ms, nowMs)) return false;
  return nowMs < interrupted_at_ms + gather_ms;
}

/**
 * Returns the interruptions after a message went out now. The time doubles when the message before it was sent less
 * than twice that time ago, and otherwise begins with `firstMs` again.
 */
export function noteInterruption(before: Interruptions, nowMs: number, firstMs: number): Interruptions {
  const { interrupted_at_ms: lastMs = Number.NEGATIVE_INFINITY, gather_ms = firstMs } = before;
  const isFollowing = !isByWrongClock(lastMs, nowMs) && nowMs - lastMs <= 2 * gather_ms;
  const nextMs = isFollowing && nowMs - lastMs >= gather_ms ? 2 * gather_ms : gather_ms;
  return {
    interrupted_at_ms: nowMs,
    gather_ms: isFollowing ? Math.max(firstMs, Math.min(nextMs, GATHER_MS_MAX)) : firstMs,
  };
}
