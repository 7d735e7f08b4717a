/**
 * Checks that the account sends no more requests in any minute than its limit, including repetitions and commands.
 */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import { unknownCommandsMax } from '../promised.ts';
import type { Evidence } from './evidence.ts';

/** A burst is at most this share of a minute's requests. */
const BURST_SHARE = 0.1;

export function checkRate({ stage }: Evidence): readonly Violation[] {
  const { plan } = stage.world;
  // Without leases several pollers spend the limit at once. Those runs test only safety.
  if (!plan.isLeased || stage.restores.length > 0) return [];
  const { requestsPerMinute, commandRequestsPerMinute } = plan;
  // When a clock that was set back is put right, the time between seems to have passed, and one burst may leave.
  const burst = stage.world.fired.has('wall_clock_set_back')
    ? Math.floor(BURST_SHARE * requestsPerMinute)
    : 0;
  const limit =
    requestsPerMinute + commandRequestsPerMinute + unknownCommandsMax(commandRequestsPerMinute) + burst;
  // The travel time of requests varies, so what is sent in a minute can arrive in slightly less.
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
