/**
 * Builds the poller's bucket of one account: as wide as the shares of poller and commands together, and never
 * narrower than its own share.
 */

import {
  type AccountRate,
  sharedRequestsPerMinute,
  USAGE_LOOK_MS,
  unknownCommandsMax,
} from '../../../../shared/core/rates/account-rate.ts';
import { MINUTE_MS } from '../../../../shared/core/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { createRequestBudget, type PollerBudget } from '../../../../shared/upstream/request-budget.ts';

/**
 * This many requests may leave at once after a quiet moment: as many as the fastest rate saves up between two
 * invocations. One route allows 40 a second, and what is kept for a burst is missing from the steady rate.
 */
export const REQUEST_BURST = 6;

/** A raised limit lets half a second of its rate leave at once: between two invocations it saves up about that much. */
const BURST_SECONDS = 0.5;

/**
 * A low rate saves up no whole request between two invocations, and every request of a burst would cost it one of each
 * minute. With the second one, a project that the list shows to move is read at once.
 */
const LOW_RATE_BURST = 2;
const LOW_RATE_BURST_SHARE = 0.05;

export function burstOf(requestsPerMinute: number): number {
  const saved = Math.floor((BURST_SECONDS * requestsPerMinute) / 60);
  const affordable = Math.max(LOW_RATE_BURST, Math.floor(LOW_RATE_BURST_SHARE * requestsPerMinute));
  return Math.max(saved, Math.min(REQUEST_BURST, affordable));
}

export function createAccountBudget(clock: Clock, rate: AccountRate): PollerBudget {
  const requestsPerMinute = sharedRequestsPerMinute(rate);
  return createRequestBudget({
    clock,
    requestsPerMinute,
    ownRequestsPerMinute: rate.pollerRequestsPerMinute,
    burst: burstOf(requestsPerMinute),
    startsEmpty: true,
  });
}

interface CommandsPort {
  /** Resolves to the number of requests that commands have ever sent for this account. */
  sentCount(): Promise<number>;
  /** Commands may send this many requests a minute. */
  readonly requestsPerMinute: number;
}

export interface SharingDeps {
  /** The API spends the same rate limit. When this is undefined, it does not. */
  readonly commands?: CommandsPort | undefined;
  readonly budget: Pick<PollerBudget, 'charge'> & Partial<Pick<PollerBudget, 'isOwnShareUnused'>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * While the poller uses less than its own share it looks this seldom. The first look after that charges what commands
 * have sent meanwhile. Until then the poller sends at most what it may send between two looks in any case, after a
 * minute in which it has sent less than its own share.
 */
const IDLE_LOOK_MS = MINUTE_MS;

/**
 * A warm environment keeps this: how many requests commands had sent at the last look. It is undefined when there was
 * no look.
 */
export interface CommandCount {
  sentCount: number | undefined;
}

export async function shareWithCommands(
  { commands, budget, clock, signal }: SharingDeps,
  known: CommandCount,
): Promise<void> {
  if (commands === undefined) return;
  // Requests that left long before this invocation or this process no longer count against any minute.
  let newMax = unknownCommandsMax(commands.requestsPerMinute);
  let assumedCount = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const isYoung = Math.abs(clock.now() - lookedAtMs) < IDLE_LOOK_MS;
    if (isYoung && budget.isOwnShareUnused?.() === true) {
      await clock.sleep(USAGE_LOOK_MS, signal).catch(() => {});
      continue;
    }
    try {
      const sentCount = await commands.sentCount();
      const newCount = sentCount - (known.sentCount ?? 0) - assumedCount;
      budget.charge(Math.min(newMax, Math.max(0, newCount)));
      known.sentCount = sentCount;
      lookedAtMs = clock.now();
      assumedCount = 0;
      newMax = Number.POSITIVE_INFINITY;
    } catch {
      // While the table is busy, commands may use all of their share.
      const perLook = Math.ceil((commands.requestsPerMinute * USAGE_LOOK_MS) / 60_000);
      budget.charge(perLook);
      assumedCount += perLook;
      await clock.sleep(USAGE_LOOK_MS, signal).catch(() => {});
      continue;
    }
    // It does not wait for a nudge, because the rate limit must hold although a nudge is lost.
    await clock.sleep(USAGE_LOOK_MS, signal).catch(() => {});
  }
}
