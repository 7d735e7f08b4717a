/** Limits how many wishes a caller may have in a minute, across all instances of the API. */

import { rateLimitOf } from '../../core/rates/rate-limit.ts';
import type { UsageSums } from '../../store/command-usage.ts';
import { createSharedUses } from './shared-uses.ts';

export interface WishAllowance {
  /** Uses up one wish and returns 0, or uses up none and returns how long the caller has to wait, in ms. */
  use(name: string, nowMs: number): number;
  /** Counts what the other instances have counted. `added` is what this instance has just added to the sums. */
  learn(sums: UsageSums, added: ReadonlyMap<string, number>, nowMs: number): void;
}

/** This is enough for a person who looks at a project, and for a script that waits for one. */
const WISHES_PER_MINUTE = 30;
const WISH_BURST = 3;

export function createWishAllowance(): WishAllowance {
  const limit = rateLimitOf(WISHES_PER_MINUTE, WISH_BURST);
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
