/** Limits how much of one kind a caller may ask for in a minute, across all instances of the API. */

import type { RateLimit } from '../../core/rates/rate-limit.ts';
import type { UsageSums } from '../../store/command-usage.ts';
import { createSharedUses } from './shared-uses.ts';

export interface CallerAllowance {
  /** Uses up one and returns 0, or uses up none and returns how long the caller has to wait, in ms. */
  use(name: string, nowMs: number): number;
  /** Counts what the other instances have counted. `added` is what this instance has just added to the sums. */
  learn(sums: UsageSums, added: ReadonlyMap<string, number>, nowMs: number): void;
}

/** Makes an allowance that gives each caller this limit. */
export function createCallerAllowance(limit: RateLimit): CallerAllowance {
  const uses = createSharedUses();

  return {
    use(name, nowMs) {
      const delayMs = uses.waitMs(limit, name, nowMs);
      if (delayMs === 0) uses.spend(limit, name, nowMs);
      return delayMs;
    },
    learn({ window, members }, added, nowMs) {
      for (const [name, sum] of members)
        uses.learn(limit, name, { window, sum, addedCount: added.get(name) ?? 0 }, nowMs);
    },
  };
}
