/** Keeps, for each of many names, what one process knows of the use of a rate limit. */

import type { RateLimit, RateLimitState } from '../../core/rates/rate-limit.ts';
import { type Learned, learned, NEVER_USED, type SharedUse, sharedWaitMs, spentHere } from './shared-use.ts';

export interface SharedUses {
  /** Returns how long the next request has to wait, in ms, after `leavingCount` requests that are about to leave. */
  waitMs(limit: RateLimit, name: string, nowMs: number, leavingCount?: number): number;
  spend(limit: RateLimit, name: string, nowMs: number): void;
  learn(limit: RateLimit, name: string, news: Learned, nowMs: number): void;
  values(): readonly SharedUse[];
}

/** The use of at most this many callers is remembered. A caller that was forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

/**
 * `owedMsMax` bounds how far ahead of the limit a caller can be: after this time of asking for nothing, the caller
 * owes nothing.
 */
export function createSharedUses(owedMsMax = Number.POSITIVE_INFINITY): SharedUses {
  /** The names that were unused for longest come first. */
  const uses = new Map<string, SharedUse>();

  return {
    waitMs(limit, name, nowMs, leavingCount = 0) {
      return sharedWaitMs(limit, uses.get(name) ?? NEVER_USED, nowMs, leavingCount);
    },
    spend(limit, name, nowMs) {
      const use = spentHere(limit, uses.get(name) ?? NEVER_USED, nowMs);
      uses.delete(name);
      uses.set(name, owingAtMost(owedMsMax, use, nowMs));
      const [oldest] = uses.keys();
      if (uses.size > CALLERS_MAX && oldest !== undefined) uses.delete(oldest);
    },
    learn(limit, name, news, nowMs) {
      const use = uses.get(name);
      if (use === undefined) return;
      uses.set(name, owingAtMost(owedMsMax, learned(limit, use, news, nowMs), nowMs));
    },
    values: () => [...uses.values()],
  };
}

function owingAtMost(owedMsMax: number, use: SharedUse, nowMs: number): SharedUse {
  if (owedMsMax === Number.POSITIVE_INFINITY) return use;
  const bounded = (state: RateLimitState): RateLimitState => ({
    ...state,
    nextAtMs: Math.min(state.nextAtMs, nowMs + owedMsMax),
  });
  return { ...use, state: bounded(use.state), base: bounded(use.base) };
}
