/** The poller's bucket of one account: as wide as both parts of the rate limit together, and never narrower than its own. */

import { type AccountRate, sharedRequestsPerMinute } from '../../../shared/core/rates/account-rate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createRequestBudget, type PollerBudget } from '../../../shared/upstream/request-budget.ts';
import { REQUEST_BURST } from './limits.ts';

export function createAccountBudget(clock: Clock, rate: AccountRate): PollerBudget {
  return createRequestBudget({
    clock,
    requestsPerMinute: sharedRequestsPerMinute(rate),
    ownRequestsPerMinute: rate.pollerRequestsPerMinute,
    burst: REQUEST_BURST,
    startsEmpty: true,
  });
}
