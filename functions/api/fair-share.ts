/** The commands' part of the account's rate limit, and each caller's part of that. */

import {
  type RateLimit,
  type RateLimitState,
  rateLimitOf,
  shareOf,
  spend,
  UNUSED,
  waitMs,
} from '../../shared/core/rate-limit.ts';
import { afterRefusal, FULL_SHARE, shareAt } from '../../shared/core/rate-share.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { RequestBudget } from '../../shared/upstream/request-budget.ts';

export interface FairShare {
  /** Takes a permit and gives 0, or takes none and says how long the caller would have to wait, milliseconds. */
  admit(clientId: string): number;
  /** For the repetitions of a request that was admitted: they count, and do not queue. */
  readonly budget: RequestBudget;
}

/** Callers whose use is remembered; one that is forgotten starts with a full bucket. */
const CALLERS_MAX = 1_000;

const BURST = 25;

export function createFairShare(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
}): FairShare {
  const { clock } = options;
  const whole = rateLimitOf(options.requestsPerMinute, BURST);
  const each = rateLimitOf(Math.min(options.callerRequestsPerMinute, options.requestsPerMinute), BURST);
  const callers = new Map<string, RateLimitState>();
  let account: RateLimitState = UNUSED;
  let share = FULL_SHARE;
  const wholeNow = (nowMs: number): RateLimit => shareOf(whole, shareAt(share, nowMs));

  return {
    admit(clientId) {
      const nowMs = clock.now();
      const own = callers.get(clientId) ?? UNUSED;
      const delayMs = Math.max(waitMs(each, own, nowMs), waitMs(wholeNow(nowMs), account, nowMs));
      if (delayMs > 0) return delayMs;
      account = spend(wholeNow(nowMs), account, nowMs);
      callers.delete(clientId);
      callers.set(clientId, spend(each, own, nowMs));
      const [oldest] = callers.keys();
      if (callers.size > CALLERS_MAX && oldest !== undefined) callers.delete(oldest);
      return 0;
    },
    budget: {
      take: async () => {},
      pauseFor(durationMs) {
        const nowMs = clock.now();
        share = afterRefusal(share, nowMs);
        account = { ...account, pausedUntilMs: Math.max(account.pausedUntilMs, nowMs + durationMs) };
      },
    },
  };
}
