/**
 * Decides when a channel may interrupt people again. The first message after a rest goes out at once; while further ones
 * follow, they are gathered into one message each for a growing time.
 */

import type { Notice, NoticeKind } from '../notices/notice.ts';
import { isByWrongClock } from './channel-pace.ts';

/** Two messages are at most this far apart while something waits, so that a bad day is reported every 40 minutes. */
const GATHER_MS_MAX = 40 * 60_000;

/** These say that the bridge itself or its channels are blind, so they wait for nothing, and nothing waits for them. */
const NEVER_GATHERED: ReadonlySet<NoticeKind> = new Set([
  'account_degraded',
  'account_recovered',
  'channel_deaf',
  'channel_back',
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
