/** Each caller's part of the commands' rate limit, as one instance of the API knows it. */

import { type RateLimit, rateLimitOf } from '../../../shared/core/rates/rate-limit.ts';
import type { UsageSums } from '../../../shared/store/command-usage.ts';
import { recentPerMinute } from './shared-use.ts';
import { createSharedUses } from './shared-uses.ts';

/**
 * Of a caller: `alone` is who asks while nobody else does; `modest` has sent no more than an even part and asks for little more than
 * that; `pressing` has sent no more and asks for much more; `above` has sent more.
 */
export type Standing = 'alone' | 'modest' | 'pressing' | 'above';

export interface CallerParts {
  /** How long until the caller's own limit allows a request, milliseconds. */
  waitMs(name: string, nowMs: number): number;
  /** With so many requests of the caller that wait for a permit. */
  standingOf(name: string, waitingCount: number, nowMs: number): Standing;
  noteAsked(name: string, nowMs: number): void;
  noteSent(name: string, nowMs: number): void;
  /** What others have counted meanwhile counts here too. */
  learn(sums: UsageSums, added: ReadonlyMap<string, number>, nowMs: number): void;
}

/** Requests of one caller that may leave an instance at once, before it knows what the same caller sends through others. */
const CALLER_BURST = 8;

/** Requests by which a caller may be ahead of an even part and still has sent no more. */
const EVEN_BURST = 5;

/** Whoever asks for more than so many even parts is pressing; a few requests in a row are not. */
const PRESSING_PARTS = 2;
const PRESSING_BURST = 5;

/** So long after asking for less, nobody is pressing any more. */
const PRESSING_MS_MAX = 20_000;

/** A caller that sends less takes nothing from anybody. */
const ACTIVE_PER_MINUTE = 3;

/** Behind the name of a caller: what they asked for is counted under it, whether it was sent or not. */
const ASKED = '?';

export function createCallerParts(options: {
  readonly callerRequestsPerMinute: number;
  /** Of all callers together. */
  readonly limitAt: (nowMs: number) => RateLimit;
  /** So many more under this name, for the other instances to know; none: to hear what they have counted. */
  readonly count: (name: string, by: 0 | 1) => void;
}): CallerParts {
  const { limitAt, count } = options;
  const own = rateLimitOf(options.callerRequestsPerMinute, CALLER_BURST);
  const sent = createSharedUses();
  /** The same, measured by an even part. */
  const sentOfEven = createSharedUses();
  const asked = createSharedUses(PRESSING_MS_MAX);

  return {
    waitMs: (name, nowMs) => sent.waitMs(own, name, nowMs),
    standingOf(name, waitingCount, nowMs) {
      const evenMs = evenIntervalMs(nowMs);
      if (activeCount(nowMs) <= 1 && asked.waitMs(pressingFrom(evenMs), name, nowMs) > 0) return 'alone';
      if (sentOfEven.waitMs(evenPart(evenMs), name, nowMs, waitingCount) > 0) return 'above';
      return asked.waitMs(pressingFrom(evenMs), name, nowMs) > 0 ? 'pressing' : 'modest';
    },
    noteAsked(name, nowMs) {
      asked.spend(pressingFrom(evenIntervalMs(nowMs)), name, nowMs);
      count(`${name}${ASKED}`, 1);
      count(name, 0);
    },
    noteSent(name, nowMs) {
      sent.spend(own, name, nowMs);
      sentOfEven.spend(evenPart(evenIntervalMs(nowMs)), name, nowMs);
      count(name, 1);
    },
    learn({ window, members }, added, nowMs) {
      const evenMs = evenIntervalMs(nowMs);
      for (const [counted, sum] of members) {
        const news = { window, sum, addedCount: added.get(counted) ?? 0 };
        const isAsked = counted.endsWith(ASKED);
        if (isAsked) asked.learn(pressingFrom(evenMs), counted.slice(0, -ASKED.length), news, nowMs);
        sent.learn(own, counted, news, nowMs);
        sentOfEven.learn(evenPart(evenMs), counted, news, nowMs);
      }
    },
  };

  /** Between two requests of a caller, if all who send anything sent the same. */
  function evenIntervalMs(nowMs: number): number {
    return limitAt(nowMs).intervalMs * Math.max(1, activeCount(nowMs));
  }

  function activeCount(nowMs: number): number {
    return asked.values().filter((use) => recentPerMinute(use, nowMs) >= ACTIVE_PER_MINUTE).length;
  }
}

function evenPart(intervalMs: number): RateLimit {
  return { intervalMs, toleranceMs: (EVEN_BURST - 1) * intervalMs };
}

function pressingFrom(evenIntervalMs: number): RateLimit {
  const intervalMs = evenIntervalMs / PRESSING_PARTS;
  return { intervalMs, toleranceMs: (PRESSING_BURST - 1) * intervalMs };
}
