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

  /** `leave` is called in the same step as the permit is spent: no abort comes between the two. */
  const takeInTurn = async (leave: () => void, signal: AbortSignal | undefined): Promise<void> => {
    for (;;) {
      if (signal?.aborted) return;
      const nowMs = clock.now();
      const delayMs = waitMs(limit, state, nowMs);
      if (delayMs === 0) {
        state = spend(limit, state, nowMs);
        return leave();
      }
      await clock.sleep(delayMs, signal);
    }
  };

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
      state = { ...state, pausedUntilMs: Math.max(state.pausedUntilMs, clock.now() + durationMs) };
    },
  };
}
