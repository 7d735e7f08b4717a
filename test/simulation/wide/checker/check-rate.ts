/** In no minute does the account send more than its limit, repetitions and commands included. */

import { sharedRequestsPerMinute, unknownCommandsMax } from '../../../../shared/core/rates/account-rate.ts';
import type { Violation } from '../../check-history.ts';
import { rateOf } from '../cloud/poller.ts';
import { MINUTE_MS } from '../plan.ts';
import type { Evidence } from './evidence.ts';

export function checkRate({ stage }: Evidence): readonly Violation[] {
  const { plan } = stage.world;
  // Without leases several pollers spend the limit at once: those runs look at safety alone.
  if (!plan.isLeased || stage.restores.length > 0) return [];
  const rate = rateOf(plan);
  const limit = sharedRequestsPerMinute(rate) + unknownCommandsMax(rate.commandRequestsPerMinute);
  // Requests travel for different times, so a minute of sending can arrive in a little less.
  const windowMs = MINUTE_MS - plan.upstreamMs[1] / 2;
  const { log } = stage.upstream;
  let first = 0;
  for (const [place, { atMs }] of log.entries()) {
    while ((log[first]?.atMs ?? 0) <= atMs - windowMs) first += 1;
    const count = place - first + 1;
    if (count > limit) {
      const detail = `${count} requests in a minute, not ${limit}, at ${new Date(atMs).toISOString()}`;
      return [{ rule: 'rate', operation_id: '', detail }];
    }
  }
  return [];
}
