/** Decides which accounts a lane polls: the configured ones of its schedule, and those of the table that belong to it. */

import { laneOf } from '../../../shared/accounts/lane-of.ts';
import type { ServedAccount } from '../../../shared/accounts/merge-accounts.ts';
import type { PollAccountSettings, PollLane } from '../../../shared/config/poller-config.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

type Served = ServedAccount<PollAccountSettings>;
type Lane = Omit<PollLane, 'accounts'>;

/** The deployment has divided the configured accounts already, so the schedule names only those of this lane. */
export function settingsOfLane(lane: Lane, served: Iterable<Served>): readonly PollAccountSettings[] {
  return ofLane(lane, served)
    .filter(({ state }) => state === 'active')
    .map(({ settings }) => settings);
}

/**
 * Returns a function that logs each account of the lane that the deployment does not allow, once for each reason in the
 * life of the process. Without this line nobody would learn from the poller why an account is not polled.
 */
export function createRefusalLog(telemetry: Telemetry): (lane: Lane, served: Iterable<Served>) => void {
  const logged = new Map<string, string>();
  return (lane, served) => {
    for (const { settings, state, fault = '' } of ofLane(lane, served)) {
      const { account_id } = settings;
      if (state !== 'refused') logged.delete(account_id);
      else if (logged.get(account_id) !== fault) {
        logged.set(account_id, fault);
        telemetry.log('error', 'account.not_served', { account_id, detail: fault });
      }
    }
  };
}

function ofLane({ lane, lanes, shared_lanes }: Lane, served: Iterable<Served>): readonly Served[] {
  return [...served].filter(({ settings: { account_id }, origin, lane: pinned }) => {
    const choice = { account_id, ...(pinned !== undefined && { lane: pinned }) };
    return origin === 'configured' || laneOf(choice, lanes, shared_lanes) === lane;
  });
}
