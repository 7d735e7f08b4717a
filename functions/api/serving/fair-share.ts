/**
 * The commands' part of the account's rate limit, and each caller's part of that. What is sent is counted in the table, in all and by
 * caller, so the poller and the other instances of the API know of it, as this one knows of theirs.
 */

import { createHash } from 'node:crypto';
import { COMMAND_BURST, USAGE_NOTE_MS } from '../../../shared/core/rates/account-rate.ts';
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
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { CommandUsage, UsageSums } from '../../../shared/store/command-usage.ts';
import type { RequestBudget } from '../../../shared/upstream/request-budget.ts';
import {
  learned,
  NEVER_USED,
  ownShare,
  recentPerMinute,
  type SharedUse,
  sharedWaitMs,
  spentHere,
  WINDOW_MS,
} from './shared-use.ts';

export interface FairShare {
  /** Takes a permit and gives 0, or takes none and says how long the caller would have to wait, milliseconds. */
  admit(clientId: string): number;
  /** The same for a wish that the poller read a project soon. */
  admitWish(clientId: string): number;
  /** For the requests that were admitted: they count, and do not queue. */
  readonly budget: RequestBudget;
  /** Resolves when no note is under way: then the process may be frozen. What is not noted yet goes along with the next. */
  settled(): Promise<void>;
}

/** Callers whose use is remembered; one that is forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

/** Of one note, so that its write stays small; whoever is left over goes along with the next. */
const NOTED_CALLERS_MAX = 50;

/** Requests of one caller that may leave an instance at once, before it knows what the same caller sends through others. */
const CALLER_BURST = 8;

/** Wishes of one caller in a minute: a person who looks at a project, or a script that waits for one. */
const WISHES_PER_MINUTE = 30;
const WISH_BURST = 3;

/** A caller that sends less takes nothing from anybody. */
const ACTIVE_PER_MINUTE = 3;

/** Nearly as much as others is as much: it is counted by chance. */
const MORE_FACTOR = 0.9;

/** An instance that is asked more often than before gets a larger part of what all instances let through, little by little. */
const PACE_FACTOR = 1.25;

const MINUTE_MS = 60_000;

/** All callers together, under a name that no hash has. */
const EVERYBODY = 'all';

export function createFairShare(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
}): FairShare {
  const { clock, usage, telemetry, requestsPerMinute } = options;
  const whole = rateLimitOf(requestsPerMinute, COMMAND_BURST);
  const each = rateLimitOf(Math.min(options.callerRequestsPerMinute, requestsPerMinute), CALLER_BURST);
  const wish = rateLimitOf(WISHES_PER_MINUTE, WISH_BURST);
  /** By what they are counted under; the longest unused come first. */
  const uses = new Map<string, { readonly limit: RateLimit; readonly use: SharedUse }>();
  let account: SharedUse = NEVER_USED;
  let share = FULL_SHARE;
  /** Admitted, and not yet sent. */
  let permitCount = 0;
  /** Of callers that are near an even part. */
  let pace: RateLimitState = UNUSED;
  let unsentRequestCount = 0;
  let unnoted = new Map<string, number>();
  let notableAtMs = Number.NEGATIVE_INFINITY;
  const underWay = new Set<Promise<void>>();
  const wholeNow = (nowMs: number): RateLimit => shareOf(whole, shareAt(share, nowMs));

  const spendOf = (name: string, limit: RateLimit, nowMs: number) => {
    const use = spentHere(limit, uses.get(name)?.use ?? NEVER_USED, nowMs);
    uses.delete(name);
    uses.set(name, { limit, use });
    count(name);
    const [oldest] = uses.keys();
    if (uses.size > CALLERS_MAX && oldest !== undefined) uses.delete(oldest);
  };

  return {
    admit(clientId) {
      const nowMs = clock.now();
      const name = memberOf('command', clientId);
      const own = uses.get(name)?.use ?? NEVER_USED;
      const limit = wholeNow(nowMs);
      const delayMs = Math.max(sharedWaitMs(each, own, nowMs), waitForRoom(limit, own, nowMs));
      if (delayMs > 0) return delayMs;
      permitCount = Math.min(permitCount + 1, COMMAND_BURST);
      pace = spend(paceAt(limit, nowMs), pace, nowMs);
      account = spentHere(limit, account, nowMs);
      count(EVERYBODY);
      spendOf(name, each, nowMs);
      return 0;
    },
    admitWish(clientId) {
      const nowMs = clock.now();
      const name = memberOf('wish', clientId);
      const delayMs = sharedWaitMs(wish, uses.get(name)?.use ?? NEVER_USED, nowMs);
      if (delayMs > 0) return delayMs;
      spendOf(name, wish, nowMs);
      noteSoon();
      return 0;
    },
    budget: {
      async take() {
        if (permitCount > 0) permitCount -= 1;
        else {
          account = spentHere(wholeNow(clock.now()), account, clock.now());
          count(EVERYBODY);
        }
        unsentRequestCount += 1;
        noteSoon();
      },
      pauseFor(durationMs) {
        const nowMs = clock.now();
        share = afterRefusal(share, nowMs);
        const pausedUntilMs = Math.max(account.state.pausedUntilMs, nowMs + durationMs);
        account = { ...account, state: { ...account.state, pausedUntilMs } };
      },
    },
    async settled() {
      await Promise.all(underWay);
    },
  };

  function count(name: string): void {
    unnoted.set(name, (unnoted.get(name) ?? 0) + 1);
  }

  /**
   * The nearer a caller comes to an even part, the more of the room for bursts they leave to those who take less. And whoever takes
   * more than others do leaves at the pace of this instance.
   */
  function waitForRoom(limit: RateLimit, own: SharedUse, nowMs: number): number {
    const ownPerMinute = recentPerMinute(own, nowMs);
    const { evenPerMinute, meanPerMinute, activeCount } = others(limit, nowMs);
    // Who has heard nothing of the others yet holds back: there may be many who start together.
    const isNew = account.learnedAtMs === Number.NEGATIVE_INFINITY;
    const burstMs = isNew ? (CALLER_BURST - 1) * limit.intervalMs : limit.toleranceMs;
    const toleranceMs = Math.min(burstMs, limit.toleranceMs) * Math.max(0, 1 - ownPerMinute / evenPerMinute);
    const roomMs = sharedWaitMs({ ...limit, toleranceMs }, account, nowMs);
    const takesMore = activeCount > 1 && ownPerMinute > meanPerMinute * MORE_FACTOR;
    return takesMore ? Math.max(roomMs, waitMs(paceAt(limit, nowMs), pace, nowMs)) : roomMs;
  }

  /** What instances that see room at the same time let through together is what one of them alone would. */
  function paceAt(limit: RateLimit, nowMs: number): RateLimit {
    const intervalMs = limit.intervalMs / Math.min(1, PACE_FACTOR * ownShare(account, nowMs));
    return { intervalMs, toleranceMs: 0 };
  }

  function others(limit: RateLimit, nowMs: number) {
    const active = [...uses.values()].flatMap((caller) => {
      const perMinute = caller.limit === each ? recentPerMinute(caller.use, nowMs) : 0;
      return perMinute >= ACTIVE_PER_MINUTE ? [perMinute] : [];
    });
    const activeCount = Math.max(1, active.length);
    const sum = active.reduce((all, perMinute) => all + perMinute, 0);
    const evenPerMinute = MINUTE_MS / limit.intervalMs / activeCount;
    return { activeCount, evenPerMinute, meanPerMinute: sum / activeCount };
  }

  function noteSoon(): void {
    if (clock.now() < notableAtMs) return;
    const noted: Promise<void> = note().finally(() => underWay.delete(noted));
    underWay.add(noted);
  }

  async function note(): Promise<void> {
    const requestCount = unsentRequestCount;
    const entries = [...unnoted];
    const members = new Map(entries.slice(0, NOTED_CALLERS_MAX));
    unsentRequestCount = 0;
    unnoted = new Map(entries.slice(NOTED_CALLERS_MAX));
    notableAtMs = clock.now() + USAGE_NOTE_MS;
    try {
      const sums = await usage.note({ requestCount, members, window: Math.floor(clock.now() / WINDOW_MS) });
      notableAtMs += (sums.writeCount - 1) * USAGE_NOTE_MS;
      learn(sums, members);
    } catch (error) {
      unsentRequestCount += requestCount;
      for (const [name, by] of members) unnoted.set(name, (unnoted.get(name) ?? 0) + by);
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
    }
  }

  /** What others have sent meanwhile is spent here too. */
  function learn({ window, members }: UsageSums, added: ReadonlyMap<string, number>): void {
    const nowMs = clock.now();
    for (const [name, sum] of members) {
      const news = { window, sum, addedCount: added.get(name) ?? 0 };
      const known = uses.get(name);
      if (name === EVERYBODY) account = learned(wholeNow(nowMs), account, news, nowMs);
      else if (known !== undefined)
        uses.set(name, { limit: known.limit, use: learned(known.limit, known.use, news, nowMs) });
    }
  }
}

/** Short, the same on every instance, and without the name of a person. */
function memberOf(kind: 'command' | 'wish', clientId: string): string {
  return createHash('sha256').update(`${kind}\n${clientId}`).digest('hex').slice(0, 16);
}
