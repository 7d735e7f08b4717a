/**
 * The commands' part of the account's rate limit, and each caller's part of that. A request leaves with a permit (`permit-stock.ts`),
 * and what has left is counted in the table by caller, so that each instance of the API knows what a caller sends through the others.
 */

import { createHash } from 'node:crypto';
import { COMMAND_BURST, commandLimitOf } from '../../../shared/core/rates/account-rate.ts';
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
import { createPermitStock, type Standing } from './permit-stock.ts';
import {
  learned,
  NEVER_USED,
  recentPerMinute,
  type SharedUse,
  sharedWaitMs,
  spentHere,
} from './shared-use.ts';

export interface FairShare {
  /**
   * Takes a permit and gives 0, or takes none and says how long the caller would have to wait, milliseconds. Whoever takes less than an
   * even part is held until the next permits can be asked for: two seconds at the most, and no longer than they have patience.
   */
  admit(clientId: string, patienceMs?: number): Promise<number>;
  /** The same for a wish that the poller read a project soon. */
  admitWish(clientId: string): number;
  /** For the requests that were admitted: they count, and do not queue. */
  readonly budget: RequestBudget;
  /** Resolves when no note is under way: then the process may be frozen. What is not noted yet goes along with the next. */
  settled(): Promise<void>;
}

/** Callers whose use is remembered; one that is forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

/** Requests of one caller that may leave an instance at once, before it knows what the same caller sends through others. */
const CALLER_BURST = 8;

/** Requests by which a caller may be ahead of an even part and still counts as one who takes less. */
const EVEN_BURST = 3;

/** Whoever asks for so many times an even part, and so many requests more, is pressing. */
const PRESSING_FACTOR = 2;
const PRESSING_COUNT = 4;

/** Wishes of one caller in a minute: a person who looks at a project, or a script that waits for one. */
const WISHES_PER_MINUTE = 30;
const WISH_BURST = 3;

/** A caller that sends less takes nothing from anybody. */
const ACTIVE_PER_MINUTE = 3;

/** Longer, and those who are held would use up the instances. */
const HOLD_MS_MAX = 2_000;

interface KnownCaller {
  readonly limit: RateLimit;
  readonly use: SharedUse;
  /** The same requests, as the limit of an even part sees them. */
  readonly evenUse: SharedUse;
  /** All that they asked for. */
  readonly askedUse: SharedUse;
}

export function createFairShare(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
}): FairShare {
  const { clock, requestsPerMinute } = options;
  const whole = commandLimitOf(requestsPerMinute);
  const each = rateLimitOf(Math.min(options.callerRequestsPerMinute, requestsPerMinute), CALLER_BURST);
  const wish = rateLimitOf(WISHES_PER_MINUTE, WISH_BURST);
  /** By what they are counted under; the longest unused come first. */
  const callers = new Map<string, KnownCaller>();
  /** What left this instance: it keeps the limit also when it hears of no other. */
  let here: RateLimitState = UNUSED;
  let share = FULL_SHARE;
  /** Admitted, and not yet sent. */
  let admittedCount = 0;
  const limitAt = (nowMs: number): RateLimit => shareOf(whole, shareAt(share, nowMs));
  const stock = createPermitStock({ ...options, limitAt, learn });

  return {
    async admit(clientId, patienceMs = 0) {
      const name = memberOf('command', clientId);
      const untilMs = clock.now() + Math.min(patienceMs, HOLD_MS_MAX);
      noteAsked(name, clock.now());
      for (;;) {
        const nowMs = clock.now();
        const waitsMs = Math.max(ownWaitMs(name, nowMs), waitMs(limitAt(nowMs), here, nowMs));
        if (waitsMs > 0) return waitsMs;
        const standing = standingOf(name, nowMs);
        if (stock.tryTake(standing)) {
          admittedCount = Math.min(admittedCount + 1, COMMAND_BURST);
          here = spend(limitAt(nowMs), here, nowMs);
          spendOf(name, each, nowMs);
          return 0;
        }
        const delayMs = await stock.obtain(standing, untilMs);
        if (delayMs > 0) return delayMs;
      }
    },
    admitWish(clientId) {
      const nowMs = clock.now();
      const name = memberOf('wish', clientId);
      const delayMs = sharedWaitMs(wish, callers.get(name)?.use ?? NEVER_USED, nowMs);
      if (delayMs > 0) return delayMs;
      spendOf(name, wish, nowMs);
      stock.noteSoon();
      return 0;
    },
    budget: {
      async take() {
        if (admittedCount > 0) admittedCount -= 1;
        else here = spend(limitAt(clock.now()), here, clock.now());
        stock.countSent();
        stock.noteSoon();
      },
      pauseFor(durationMs) {
        const nowMs = clock.now();
        share = afterRefusal(share, nowMs);
        here = { ...here, pausedUntilMs: Math.max(here.pausedUntilMs, nowMs + durationMs) };
      },
    },
    settled: () => stock.settled(),
  };

  function spendOf(name: string, limit: RateLimit, nowMs: number): void {
    const known = callers.get(name);
    const use = spentHere(limit, known?.use ?? NEVER_USED, nowMs);
    const evenUse = spentHere(evenPartAt(nowMs), known?.evenUse ?? NEVER_USED, nowMs);
    remember(name, { limit, use, evenUse, askedUse: known?.askedUse ?? NEVER_USED });
    stock.count(name);
  }

  function noteAsked(name: string, nowMs: number): void {
    const known = callers.get(name) ?? { limit: each, use: NEVER_USED, evenUse: NEVER_USED, askedUse: NEVER_USED };
    remember(name, { ...known, askedUse: spentHere(each, known.askedUse, nowMs) });
    stock.count(`${name}${ASKED}`);
  }

  function remember(name: string, known: KnownCaller): void {
    callers.delete(name);
    callers.set(name, known);
    const [oldest] = callers.keys();
    if (callers.size > CALLERS_MAX && oldest !== undefined) callers.delete(oldest);
  }

  function ownWaitMs(name: string, nowMs: number): number {
    return sharedWaitMs(each, callers.get(name)?.use ?? NEVER_USED, nowMs);
  }

  function standingOf(name: string, nowMs: number): Standing {
    const { evenUse, askedUse } = callers.get(name) ?? { evenUse: NEVER_USED, askedUse: NEVER_USED };
    const even = evenPartAt(nowMs);
    if (sharedWaitMs(even, evenUse, nowMs) > 0) return 'above';
    const modestPerMinute = (PRESSING_FACTOR * 60_000) / even.intervalMs + PRESSING_COUNT * 3;
    return recentPerMinute(askedUse, nowMs) > modestPerMinute ? 'pressing' : 'modest';
  }

  /** As if all who send anything sent the same. */
  function evenPartAt(nowMs: number): RateLimit {
    const isActive = ({ limit, use }: KnownCaller) =>
      limit === each && recentPerMinute(use, nowMs) >= ACTIVE_PER_MINUTE;
    const activeCount = Math.max(1, [...callers.values()].filter(isActive).length);
    const intervalMs = limitAt(nowMs).intervalMs * activeCount;
    return { intervalMs, toleranceMs: intervalMs * (EVEN_BURST - 1) };
  }

  /** What others have sent meanwhile is spent here too. */
  function learn({ window, members }: UsageSums, added: ReadonlyMap<string, number>): void {
    const nowMs = clock.now();
    const even = evenPartAt(nowMs);
    for (const [counted, sum] of members) {
      const isAsked = counted.endsWith(ASKED);
      const name = isAsked ? counted.slice(0, -ASKED.length) : counted;
      const known = callers.get(name);
      if (known === undefined) continue;
      const news = { window, sum, addedCount: added.get(counted) ?? 0 };
      if (isAsked) {
        callers.set(name, { ...known, askedUse: learned(each, known.askedUse, news, nowMs) });
        continue;
      }
      const use = learned(known.limit, known.use, news, nowMs);
      callers.set(name, { ...known, use, evenUse: learned(even, known.evenUse, news, nowMs) });
    }
  }
}

/** Behind the name of a caller under which all that they asked for is counted. */
const ASKED = '?';

/** Short, the same on every instance, and without the name of a person. */
function memberOf(kind: 'command' | 'wish', clientId: string): string {
  return createHash('sha256').update(`${kind}\n${clientId}`).digest('hex').slice(0, 16);
}
