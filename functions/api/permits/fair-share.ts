/**
 * The commands' part of the account's rate limit, and each caller's part of that. A request leaves when its caller's own limit allows it
 * (`caller-parts.ts`) and there is a permit for it (`permit-stock.ts`).
 */

import { createHash } from 'node:crypto';
import { commandLimitOf, USAGE_NOTE_MS } from '../../../shared/core/rates/account-rate.ts';
import {
  type RateLimit,
  type RateLimitState,
  rateLimitOf,
  shareOf,
  spend,
  UNUSED,
  waitMs,
} from '../../../shared/core/rates/rate-limit.ts';
import { afterRefusal, FULL_SHARE, shareAt } from '../../../shared/core/rates/rate-share.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { CommandUsage, UsageSums } from '../../../shared/store/command-usage.ts';
import type { RequestBudget } from '../../../shared/upstream/request-budget.ts';
import { createCallerParts } from './caller-parts.ts';
import { createPermitStock } from './permit-stock.ts';
import { createSharedUses } from './shared-uses.ts';
import { createUsageNotes } from './usage-notes.ts';

export interface FairShare {
  /**
   * Takes a permit and gives 0, or takes none and says how long the caller would have to wait, milliseconds. A caller who takes no more
   * than an even part is held until permits can be asked for again, for so long at the most; default and maximum: two seconds.
   */
  admit(clientId: string, holdMs?: number): Promise<number>;
  /** The same for a wish that the poller read a project soon. */
  admitWish(clientId: string): number;
  /** For the requests that were admitted: they count, and do not queue. */
  readonly budget: RequestBudget;
  /** Resolves when no note is under way: then the process may be frozen. What is not noted yet goes along with the next. */
  settled(): Promise<void>;
}

/** Wishes of one caller in a minute: a person who looks at a project, or a script that waits for one. */
const WISHES_PER_MINUTE = 30;
const WISH_BURST = 3;

/** Should some never be sent, they are forgotten. */
const ADMITTED_MAX = 100;

/** Longer, and those who are held would use up the instances. */
const HOLD_MS_MAX = 2_000;

/** More often than anybody has to look for a permit within that time. */
const LOOKS_MAX = 20;

export function createFairShare(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
}): FairShare {
  const { clock, requestsPerMinute } = options;
  const whole = commandLimitOf(requestsPerMinute);
  const wish = rateLimitOf(WISHES_PER_MINUTE, WISH_BURST);
  let share = FULL_SHARE;
  const limitAt = (nowMs: number): RateLimit => shareOf(whole, shareAt(share, nowMs));
  const notes = createUsageNotes({ ...options, learn });
  const stock = createPermitStock({ clock, limitAt, notes });
  const callerRequestsPerMinute = Math.min(options.callerRequestsPerMinute, requestsPerMinute);
  const callers = createCallerParts({
    callerRequestsPerMinute,
    limitAt,
    count: (name, by) => notes.count(name, by),
  });
  const wishes = createSharedUses();
  /** What left this instance: it keeps the limit also when it hears of no other. */
  let here: RateLimitState = UNUSED;
  /** Admitted, and not yet sent. */
  let admittedCount = 0;
  const waiting = createTally();

  return {
    async admit(clientId, holdMs = HOLD_MS_MAX) {
      const name = memberOf('command', clientId);
      const untilMs = clock.now() + Math.min(holdMs, HOLD_MS_MAX);
      callers.noteAsked(name, clock.now());
      for (let look = 0; look < LOOKS_MAX; look++) {
        const nowMs = clock.now();
        const limitedMs = Math.max(callers.waitMs(name, nowMs), waitMs(limitAt(nowMs), here, nowMs));
        if (limitedMs > 0) return limitedMs;
        const standing = callers.standingOf(name, waiting.countOf(name), nowMs);
        if (stock.tryTake(standing)) {
          leave(name, nowMs);
          return 0;
        }
        const obtained = await waiting.during(name, stock.obtain(standing, untilMs));
        if (obtained.kind === 'later') return obtained.delayMs;
        if (obtained.kind === 'away') {
          leave(name, nowMs);
          return 0;
        }
      }
      return USAGE_NOTE_MS;
    },
    admitWish(clientId) {
      const nowMs = clock.now();
      const name = memberOf('wish', clientId);
      const delayMs = wishes.waitMs(wish, name, nowMs);
      if (delayMs > 0) return delayMs;
      wishes.spend(wish, name, nowMs);
      notes.count(name, 1);
      notes.noteSoon();
      return 0;
    },
    budget: {
      async take() {
        if (admittedCount > 0) admittedCount -= 1;
        else here = spend(limitAt(clock.now()), here, clock.now());
        notes.countSent();
        notes.noteSoon();
      },
      pauseFor(durationMs) {
        const nowMs = clock.now();
        share = afterRefusal(share, nowMs);
        here = { ...here, pausedUntilMs: Math.max(here.pausedUntilMs, nowMs + durationMs) };
      },
    },
    settled: () => notes.settled(),
  };

  function leave(name: string, nowMs: number): void {
    admittedCount = Math.min(admittedCount + 1, ADMITTED_MAX);
    here = spend(limitAt(nowMs), here, nowMs);
    callers.noteSent(name, nowMs);
  }

  function learn(sums: UsageSums, added: ReadonlyMap<string, number>): void {
    const nowMs = clock.now();
    callers.learn(sums, added, nowMs);
    for (const [name, sum] of sums.members)
      wishes.learn(wish, name, { window: sums.window, sum, addedCount: added.get(name) ?? 0 }, nowMs);
  }
}

/** Of each name, how much is under way. */
function createTally() {
  const counts = new Map<string, number>();
  const countOf = (name: string) => counts.get(name) ?? 0;
  return {
    countOf,
    async during<T>(name: string, task: Promise<T>): Promise<T> {
      counts.set(name, countOf(name) + 1);
      try {
        return await task;
      } finally {
        counts.set(name, countOf(name) - 1);
        if (countOf(name) === 0) counts.delete(name);
      }
    },
  };
}

/** Short, the same on every instance, and without the name of a person. */
function memberOf(kind: 'command' | 'wish', clientId: string): string {
  return createHash('sha256').update(`${kind}\n${clientId}`).digest('hex').slice(0, 16);
}
