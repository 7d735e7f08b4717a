/**
 * The commands' part of the account's rate limit, and each caller's part of that. What is sent is counted in the table, so the
 * poller and the other instances of the API know of it, as this one knows of theirs.
 */

import { COMMAND_BURST, USAGE_NOTE_MS } from '../../shared/core/account-rate.ts';
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
import { toError } from '../../shared/runtime/errors.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { CommandUsage } from '../../shared/store/command-usage.ts';
import type { RequestBudget } from '../../shared/upstream/request-budget.ts';

export interface FairShare {
  /** Takes a permit and gives 0, or takes none and says how long the caller would have to wait, milliseconds. */
  admit(clientId: string): number;
  /** For the requests that were admitted, and their repetitions: they count, and do not queue. */
  readonly budget: RequestBudget;
  /** Resolves when no note is under way: then the process may be frozen. What is not noted yet goes along with the next. */
  settled(): Promise<void>;
}

/** Callers whose use is remembered; one that is forgotten starts with a full bucket. */
export const CALLERS_MAX = 1_000;

export function createFairShare(options: {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
}): FairShare {
  const { clock, usage, telemetry } = options;
  const whole = rateLimitOf(options.requestsPerMinute, COMMAND_BURST);
  const each = rateLimitOf(
    Math.min(options.callerRequestsPerMinute, options.requestsPerMinute),
    COMMAND_BURST,
  );
  const callers = new Map<string, RateLimitState>();
  let account: RateLimitState = UNUSED;
  let share = FULL_SHARE;
  let unnotedCount = 0;
  let notedCount = 0;
  let notedAtMs = Number.NEGATIVE_INFINITY;
  /** Of all other instances, as far as it is known; undefined: nothing was sent yet. */
  let otherCount: number | undefined;
  const underWay = new Set<Promise<void>>();
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
      async take() {
        unnotedCount += 1;
        if (clock.now() - notedAtMs < USAGE_NOTE_MS) return;
        const noted: Promise<void> = note().finally(() => underWay.delete(noted));
        underWay.add(noted);
      },
      pauseFor(durationMs) {
        const nowMs = clock.now();
        share = afterRefusal(share, nowMs);
        account = { ...account, pausedUntilMs: Math.max(account.pausedUntilMs, nowMs + durationMs) };
      },
    },
    async settled() {
      await Promise.all(underWay);
    },
  };

  async function note(): Promise<void> {
    const count = unnotedCount;
    unnotedCount = 0;
    notedCount += count;
    notedAtMs = clock.now();
    try {
      learn(await usage.add(count));
    } catch (error) {
      unnotedCount += count;
      notedCount -= count;
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
    }
  }

  /** What others have sent meanwhile is spent here too. Own notes that are under way make it look less, never more. */
  function learn(sum: number): void {
    const known = sum - notedCount;
    const newCount = Math.min(known - (otherCount ?? known), options.requestsPerMinute);
    if (newCount > 0) account = spend(wholeNow(clock.now()), account, clock.now(), newCount);
    otherCount = Math.max(otherCount ?? known, known);
  }
}
