/** Measures each caller's part of the commands' rate limit, as one instance of the API knows it. */

import { type RateLimit, rateLimitOf } from '../../core/rates/rate-limit.ts';
import type { UsageSums } from '../../store/command-usage.ts';
import { createSharedUses, recentPerMinute, type SharedUses } from './shared-use.ts';

/**
 * A caller is `alone` while no other caller asks. A `modest` caller has sent no more than an even part and asks for
 * little more than that. A `pressing` caller has sent no more than an even part and asks for much more. A caller
 * `above` has sent more than an even part.
 */
export type Standing = 'alone' | 'modest' | 'pressing' | 'above';

export interface CallerParts {
  /** Returns how long the caller's own limit makes the next request wait, in ms; 0 when it may leave now. */
  waitMs(name: string, nowMs: number): number;
  /** `waitingCount` is the number of the caller's requests that wait for a permit. */
  standingOf(name: string, waitingCount: number, nowMs: number): Standing;
  noteAsked(name: string, nowMs: number): void;
  noteSent(name: string, nowMs: number): void;
  /** Counts what the other instances have counted. `added` is what this instance has just added to the sums. */
  learn(sums: UsageSums, added: ReadonlyMap<string, number>, nowMs: number): void;
}

/** One instance lets this many requests of a caller leave at once, before it knows what the caller sends through others. */
export const CALLER_BURST = 8;

/** A caller who is this many requests ahead of an even part still counts as having sent no more than that. */
const EVEN_BURST = 5;

/** A caller who asks for more than this many even parts is pressing. A few requests in a row are not enough. */
const PRESSING_PARTS = 2;
const PRESSING_BURST = 5;

/** A pressing caller who asks for less is no longer pressing after this time at the latest. */
const PRESSING_MS_MAX = 20_000;

/** A caller who asks less often than this takes nothing from others, and does not count as active. */
const ACTIVE_PER_MINUTE = 3;

/** This suffix of a caller's name counts the requests that the caller asked for, whether they were sent or not. */
const ASKED = '?';

export function createCallerParts(options: {
  readonly callerRequestsPerMinute: number;
  /** Returns the limit of all callers together. */
  readonly limitAt: (nowMs: number) => RateLimit;
  /** Counts requests under this name for the other instances. Counting 0 only asks for what they have counted. */
  readonly count: (name: string, by: 0 | 1) => void;
}): CallerParts {
  const { limitAt, count } = options;
  const own = rateLimitOf(options.callerRequestsPerMinute, CALLER_BURST);
  const sent = createSharedUses();
  /** Measures the same requests by an even part. */
  const sentOfEven = createSharedUses();
  const asked = createSharedUses(PRESSING_MS_MAX);
  /** Returns the time between two requests of a caller, in ms, if this many active callers sent equally. */
  const evenMsOf = (callerCount: number, nowMs: number) =>
    limitAt(nowMs).intervalMs * Math.max(1, callerCount);
  const evenMsAt = (nowMs: number) => evenMsOf(activeCount(asked, nowMs), nowMs);

  return {
    waitMs: (name, nowMs) => sent.waitMs(own, name, nowMs),
    standingOf(name, waitingCount, nowMs) {
      const active = activeCount(asked, nowMs);
      const evenMs = evenMsOf(active, nowMs);
      const isPressing = () => asked.waitMs(pressingFrom(evenMs), name, nowMs) > 0;
      if (active <= 1 && isPressing()) return 'alone';
      if (sentOfEven.waitMs(evenPart(evenMs), name, nowMs, waitingCount) > 0) return 'above';
      return isPressing() ? 'pressing' : 'modest';
    },
    noteAsked(name, nowMs) {
      asked.spend(pressingFrom(evenMsAt(nowMs)), name, nowMs);
      count(`${name}${ASKED}`, 1);
      count(name, 0);
    },
    noteSent(name, nowMs) {
      sent.spend(own, name, nowMs);
      sentOfEven.spend(evenPart(evenMsAt(nowMs)), name, nowMs);
      count(name, 1);
    },
    learn({ window, members }, added, nowMs) {
      const evenMs = evenMsAt(nowMs);
      for (const [counted, sum] of members) {
        const news = { window, sum, addedCount: added.get(counted) ?? 0 };
        const isAsked = counted.endsWith(ASKED);
        if (isAsked) asked.learn(pressingFrom(evenMs), counted.slice(0, -ASKED.length), news, nowMs);
        sent.learn(own, counted, news, nowMs);
        sentOfEven.learn(evenPart(evenMs), counted, news, nowMs);
      }
    },
  };
}

/** Returns the number of callers who ask often enough to take something from others. */
function activeCount(asked: SharedUses, nowMs: number): number {
  return asked.values().filter((use) => recentPerMinute(use, nowMs) >= ACTIVE_PER_MINUTE).length;
}

function evenPart(intervalMs: number): RateLimit {
  return { intervalMs, toleranceMs: (EVEN_BURST - 1) * intervalMs };
}

function pressingFrom(evenIntervalMs: number): RateLimit {
  const intervalMs = evenIntervalMs / PRESSING_PARTS;
  return { intervalMs, toleranceMs: (PRESSING_BURST - 1) * intervalMs };
}
