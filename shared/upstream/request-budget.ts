/** The poller's share of the account's rate limit as a queue: callers leave in order, each when the limit allows. */

import { type RateLimitState, rateLimitOf, spend, UNUSED, waitMs } from '../core/rate-limit.ts';
import type { Clock } from '../runtime/clock.ts';

export interface RequestBudget {
  /** Resolves when a request may leave; rejects with the signal's reason, and then has spent nothing. */
  take(signal?: AbortSignal): Promise<void>;
  /** The upstream asked for silence: nobody sends for so long. */
  pauseFor(durationMs: number): void;
}

export function createRequestBudget(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly burst: number;
}): RequestBudget {
  const { clock } = options;
  const limit = rateLimitOf(options.requestsPerMinute, options.burst);
  let state: RateLimitState = UNUSED;
  let queue: Promise<void> = Promise.resolve();

  const takeInTurn = async (signal: AbortSignal | undefined): Promise<void> => {
    for (;;) {
      signal?.throwIfAborted();
      const nowMs = clock.now();
      const delayMs = waitMs(limit, state, nowMs);
      if (delayMs === 0) {
        state = spend(limit, state, nowMs);
        return;
      }
      await clock.sleep(delayMs, signal);
    }
  };

  return {
    take(signal) {
      const turn = queue.then(() => takeInTurn(signal));
      queue = turn.catch(() => {});
      return turn;
    },
    pauseFor(durationMs) {
      state = { ...state, pausedUntilMs: Math.max(state.pausedUntilMs, clock.now() + durationMs) };
    },
  };
}
