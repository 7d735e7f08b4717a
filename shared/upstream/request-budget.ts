/** A share of the account's rate limit as a queue: requests leave in order, each as soon as the limit allows. */

import {
  forgive,
  type RateLimit,
  type RateLimitState,
  rateLimitOf,
  shareOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  usedUp,
  waitMs,
} from '../core/rates/rate-limit.ts';
import { afterRefusal, FULL_SHARE, type LearnedLimit, shareAt } from '../core/rates/rate-share.ts';
import { RETRY_AFTER_MS_MAX } from '../core/rates/retry-delay.ts';
import type { Clock } from '../runtime/clock.ts';

export interface RequestBudget {
  /** Resolves when a request may leave. When the signal aborts, it rejects with the signal's reason and spends nothing. */
  take(signal?: AbortSignal): Promise<void>;
  /**
   * To be called when the upstream refused a request for the rate. Nothing leaves for `durationMs`, and fewer requests than before
   * leave for some minutes. After the longest pause that is honoured (`RETRY_AFTER_MS_MAX`), one request at a time leaves until one
   * is accepted.
   */
  pauseFor(durationMs: number): void;
  /** To be called when the upstream answered and did not refuse for the rate. */
  noteAccepted?(): void;
}

/** The poller's budget. The poller takes a permit first and then decides what to send with it, so that the decision is fresh when the request leaves. */
export interface PollerBudget extends RequestBudget {
  /** To be called when nothing was sent with the last permit. */
  giveBack(): void;
  /** To be called when other processes have sent `requestCount` requests that count against the same limit. */
  charge(requestCount: number): void;
  /** What has been spent so far, to be handed over to the next process. */
  spending(): Spending;
  /** Goes on from what the previous process has spent. Undefined: it handed nothing over, so the whole limit is assumed to be spent. */
  takeOver(spending: Spending | undefined): void;
  learned(): LearnedLimit;
  restore(learned: LearnedLimit): void;
}

/** When the next request would leave if all requests left evenly spaced, milliseconds since the epoch. */
interface Spending {
  /** For all requests of the account. */
  readonly whole_next_at_ms: number;
  /** For the poller's own part of them. */
  readonly own_next_at_ms: number;
}

/** A permit that was taken before its request was known. */
export interface Permit {
  /** True the first time: the request may leave. False from then on: the request has to take a permit of its own. */
  use(): boolean;
}

export function takenPermit(): Permit {
  let isLeft = true;
  return {
    use() {
      const had = isLeft;
      isLeft = false;
      return had;
    },
  };
}

/** The time between two requests that probe. It is longer than the time-out of a request, so that only one probe is under way. */
const PROBE_INTERVAL_MS = 15_000;

export function createRequestBudget(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  /** The part of them that is reserved for the poller, whatever others send; default: no part is reserved. */
  readonly ownRequestsPerMinute?: number;
  readonly burst: number;
  /** True: an earlier process may have sent until now, so the first burst has to be saved up. */
  readonly startsEmpty?: boolean;
}): PollerBudget {
  const { clock } = options;
  const wholeLimit = rateLimitOf(options.requestsPerMinute, options.burst);
  const { ownRequestsPerMinute } = options;
  const ownLimit =
    ownRequestsPerMinute === undefined ? undefined : rateLimitOf(ownRequestsPerMinute, options.burst);
  let share = FULL_SHARE;
  const startsEmpty = options.startsEmpty === true;
  /** What all processes have sent. */
  let state: RateLimitState = startsEmpty ? startEmpty(wholeLimit, clock.now()) : UNUSED;
  /** What this process has sent. An earlier process may have used up its own minute, and that of others. */
  let ownState: RateLimitState =
    startsEmpty && ownLimit !== undefined ? usedUp(ownLimit, clock.now()) : UNUSED;
  let queue: Promise<void> = Promise.resolve();
  let isProbing = false;
  let probedAtMs = Number.NEGATIVE_INFINITY;

  /** `leave` is called in the same step in which the permit is spent, so that no abort comes between the two. */
  const takeInTurn = async (leave: () => void, signal: AbortSignal | undefined): Promise<void> => {
    for (;;) {
      if (signal?.aborted) return;
      const nowMs = clock.now();
      const delayMs = delayAt(nowMs);
      if (delayMs === 0) {
        spendAt(nowMs, 1, 1);
        probedAtMs = nowMs;
        return leave();
      }
      await clock.sleep(delayMs, signal);
    }
  };

  function partOf(limit: RateLimit, nowMs: number): RateLimit {
    return shareOf(limit, shareAt(share, nowMs));
  }

  function delayAt(nowMs: number): number {
    const probeDelayMs = isProbing ? probedAtMs + PROBE_INTERVAL_MS - nowMs : 0;
    return Math.max(limitDelayAt(nowMs), probeDelayMs);
  }

  function limitDelayAt(nowMs: number): number {
    const delayMs = waitMs(partOf(wholeLimit, nowMs), state, nowMs);
    if (ownLimit === undefined) return delayMs;
    const own = { ...ownState, pausedUntilMs: state.pausedUntilMs };
    return Math.min(delayMs, waitMs(partOf(ownLimit, nowMs), own, nowMs));
  }

  function spendAt(nowMs: number, count: number, ownCount: number): void {
    const whole = partOf(wholeLimit, nowMs);
    state = forgive(whole, spend(whole, state, nowMs, count), nowMs);
    if (ownLimit === undefined || ownCount === 0) return;
    const own = partOf(ownLimit, nowMs);
    ownState = forgive(own, spend(own, ownState, nowMs, ownCount), nowMs);
  }

  function pauseUntil(atMs: number): void {
    state = { ...state, pausedUntilMs: Math.max(state.pausedUntilMs, atMs) };
  }

  return {
    take(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      // A cancelled request leaves the queue at once, also from its middle, because the request in front may have a long wait.
      const cancel = () => reject(signal?.reason);
      signal?.addEventListener('abort', cancel, { once: true });
      const leave = () => {
        signal?.removeEventListener('abort', cancel);
        resolve();
      };
      queue = queue.then(() => takeInTurn(leave, signal)).catch(reject);
      return promise;
    },
    pauseFor(durationMs) {
      share = afterRefusal(share, clock.now());
      isProbing ||= durationMs >= RETRY_AFTER_MS_MAX;
      pauseUntil(clock.now() + Math.min(durationMs, RETRY_AFTER_MS_MAX));
    },
    noteAccepted() {
      isProbing = false;
    },
    giveBack() {
      const nowMs = clock.now();
      probedAtMs = Number.NEGATIVE_INFINITY;
      state = unspend(partOf(wholeLimit, nowMs), state);
      if (ownLimit !== undefined) ownState = unspend(partOf(ownLimit, nowMs), ownState);
    },
    charge(requestCount) {
      spendAt(clock.now(), requestCount, 0);
    },
    spending: () => ({ whole_next_at_ms: state.nextAtMs, own_next_at_ms: ownState.nextAtMs }),
    takeOver(spending) {
      const nowMs = clock.now();
      state = { ...state, nextAtMs: spending?.whole_next_at_ms ?? startEmpty(wholeLimit, nowMs).nextAtMs };
      state = forgive(wholeLimit, state, nowMs);
      if (ownLimit === undefined) return;
      ownState = { ...ownState, nextAtMs: spending?.own_next_at_ms ?? usedUp(ownLimit, nowMs).nextAtMs };
      ownState = forgive(ownLimit, ownState, nowMs);
    },
    learned: () => ({ share, pausedUntilMs: state.pausedUntilMs, ...(isProbing && { isProbing }) }),
    restore(learned) {
      share = learned.share;
      isProbing = learned.isProbing === true;
      // A clock that was ahead, or an earlier version, may have stored a pause of any length.
      pauseUntil(Math.min(learned.pausedUntilMs, clock.now() + RETRY_AFTER_MS_MAX));
    },
  };
}
