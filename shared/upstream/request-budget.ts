/** The poller's share of the account's rate limit as a queue: callers leave in order, each when the limit allows. */

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
  /** Resolves when a request may leave; rejects with the signal's reason, and then has spent nothing. */
  take(signal?: AbortSignal): Promise<void>;
  /**
   * The upstream refused a request for the rate: nothing leaves for this long, and less than before for some minutes. After
   * the longest pause that is honoured (`RETRY_AFTER_MS_MAX`), one request at a time leaves until one is accepted.
   */
  pauseFor(durationMs: number): void;
  /** The upstream answered, and it did not refuse for the rate. */
  noteAccepted?(): void;
}

/** The poller's: it takes a permit first and decides then what to send with it, so that no decision is old when it leaves. */
export interface PollerBudget extends RequestBudget {
  /** Nothing was sent with the last permit. */
  giveBack(): void;
  /** Somebody else has sent so many requests out of the same limit. */
  charge(requestCount: number): void;
  /** What was spent up to now, for the process after this one. */
  spending(): Spending;
  /** Goes on from what the process before has spent. Undefined: it has not handed that over, so everything is assumed. */
  takeOver(spending: Spending | undefined): void;
  learned(): LearnedLimit;
  restore(learned: LearnedLimit): void;
}

/** When the next request would leave if all left evenly, milliseconds since the epoch. */
export interface Spending {
  /** Of everything that is sent for the account. */
  readonly whole_next_at_ms: number;
  /** Of the caller's own part. */
  readonly own_next_at_ms: number;
}

/** A permit that was taken before its request was known. */
export interface Permit {
  /** True once: the request may leave. False: it has to take its own. */
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

/** Between two requests that probe: longer than one request takes until its time-out, so that only one is under way. */
const PROBE_INTERVAL_MS = 15_000;

export function createRequestBudget(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  /** Of them so many are the caller's own, whatever others send out of the same limit; default: none in particular. */
  readonly ownRequestsPerMinute?: number;
  readonly burst: number;
  /** An earlier process may have sent up to now: there is no burst until one was saved up. */
  readonly startsEmpty?: boolean;
}): PollerBudget {
  const { clock } = options;
  const wholeLimit = rateLimitOf(options.requestsPerMinute, options.burst);
  const { ownRequestsPerMinute } = options;
  const ownLimit =
    ownRequestsPerMinute === undefined ? undefined : rateLimitOf(ownRequestsPerMinute, options.burst);
  let share = FULL_SHARE;
  const startsEmpty = options.startsEmpty === true;
  /** What was sent by all. */
  let state: RateLimitState = startsEmpty ? startEmpty(wholeLimit, clock.now()) : UNUSED;
  /** What was sent here; an earlier process may have used up its minute, and that of others. */
  let ownState: RateLimitState =
    startsEmpty && ownLimit !== undefined ? usedUp(ownLimit, clock.now()) : UNUSED;
  let queue: Promise<void> = Promise.resolve();
  let isProbing = false;
  let probedAtMs = Number.NEGATIVE_INFINITY;

  /** `leave` is called in the same step as the permit is spent: no abort comes between the two. */
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
      // At once, also from the middle of the queue: the one in front may have a long time to wait.
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
