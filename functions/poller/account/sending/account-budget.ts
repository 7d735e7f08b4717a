/**
 * Builds the poller's bucket of one account: as wide as the shares of poller and commands together, and never
 * narrower than its own share.
 */

import { type AccountRate, sharedRequestsPerMinute } from '../../../../shared/core/rates/account-rate.ts';
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
