/** The poller's share of the account's rate limit as a queue: callers leave in order, each when the limit allows. */

import {
  type RateLimitState,
  rateLimitOf,
  shareOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  waitMs,
} from '../core/rate-limit.ts';
import { afterRefusal, FULL_SHARE, type LearnedLimit, shareAt } from '../core/rate-share.ts';
import type { Clock } from '../runtime/clock.ts';

export interface RequestBudget {
  /** Resolves when a request may leave; rejects with the signal's reason, and then has spent nothing. */
  take(signal?: AbortSignal): Promise<void>;
  /** The upstream refused for the rate: nobody sends for so long, and then more slowly for some minutes. */
  pauseFor(durationMs: number): void;
}

/** The poller's: it takes a permit first and decides then what to send with it, so that no decision is old when it leaves. */
export interface PollerBudget extends RequestBudget {
  /** Nothing was sent with the last permit. */
  giveBack(): void;
  /** Somebody else has sent so many requests out of the same limit. */
  charge(requestCount: number): void;
  learned(): LearnedLimit;
  restore(learned: LearnedLimit): void;
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

export function createRequestBudget(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly burst: number;
  /** An earlier process may have sent up to now: there is no burst until one was saved up. */
  readonly startsEmpty?: boolean;
}): PollerBudget {
  const { clock } = options;
  const wholeLimit = rateLimitOf(options.requestsPerMinute, options.burst);
  let share = FULL_SHARE;
  let state: RateLimitState = options.startsEmpty === true ? startEmpty(wholeLimit, clock.now()) : UNUSED;
  let queue: Promise<void> = Promise.resolve();

  /** `leave` is called in the same step as the permit is spent: no abort comes between the two. */
  const takeInTurn = async (leave: () => void, signal: AbortSignal | undefined): Promise<void> => {
    for (;;) {
      if (signal?.aborted) return;
      const nowMs = clock.now();
      const limit = shareOf(wholeLimit, shareAt(share, nowMs));
      const delayMs = waitMs(limit, state, nowMs);
      if (delayMs === 0) {
        state = spend(limit, state, nowMs);
        return leave();
      }
      await clock.sleep(delayMs, signal);
    }
  };

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
      pauseUntil(clock.now() + durationMs);
    },
    giveBack() {
      state = unspend(shareOf(wholeLimit, shareAt(share, clock.now())), state);
    },
    charge(requestCount) {
      // More than a minute of the limit is no longer anybody's minute.
      const count = Math.min(requestCount, options.requestsPerMinute);
      state = spend(shareOf(wholeLimit, shareAt(share, clock.now())), state, clock.now(), count);
    },
    learned: () => ({ share, pausedUntilMs: state.pausedUntilMs }),
    restore(learned) {
      share = learned.share;
      pauseUntil(learned.pausedUntilMs);
    },
  };
}
