/** What one process knows of the use of one limit by many, each on their own. */

import type { RateLimit, RateLimitState } from '../../core/rates/rate-limit.ts';
import { type Learned, learned, NEVER_USED, type SharedUse, sharedWaitMs, spentHere } from './shared-use.ts';

export interface SharedUses {
  /** How long the next request has to wait, milliseconds, after so many that are about to leave. */
  waitMs(limit: RateLimit, name: string, nowMs: number, leavingCount?: number): number;
  spend(limit: RateLimit, name: string, nowMs: number): void;
  learn(limit: RateLimit, name: string, news: Learned, nowMs: number): void;
  values(): readonly SharedUse[];
}

/** Callers whose use is remembered; one that is forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

/** `owedMsMax`: whoever wants more than the limit has made up for it after this time. */
export function createSharedUses(owedMsMax = Number.POSITIVE_INFINITY): SharedUses {
  /** The longest unused come first. */
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
  const bounded = (state: RateLimitState): RateLimitState => ({
    ...state,
    nextAtMs: Math.min(state.nextAtMs, nowMs + owedMsMax),
  });
  return { ...use, state: bounded(use.state), base: bounded(use.base) };
}
