/** Decides which accounts a lane polls: the configured ones of its schedule, and those of the table that belong to it. */

import { laneOf } from '../../../shared/accounts/lane-of.ts';
import type { ServedAccount } from '../../../shared/accounts/merge-accounts.ts';
import type { PollAccountSettings, PollLane } from '../../../shared/config/poller-config.ts';

/** The deployment has divided the configured accounts already, so the schedule names only those of this lane. */
export function settingsOfLane(
  { lane, lanes, shared_lanes }: Omit<PollLane, 'accounts'>,
  served: Iterable<ServedAccount<PollAccountSettings>>,
): readonly PollAccountSettings[] {
  const isPolled = ({ settings, state, origin, lane: pinned }: ServedAccount<PollAccountSettings>) => {
    const choice = { account_id: settings.account_id, ...(pinned !== undefined && { lane: pinned }) };
    const isHere = origin === 'configured' || laneOf(choice, lanes, shared_lanes) === lane;
    return state === 'active' && isHere;
  };
  return [...served].filter(isPolled).map(({ settings }) => settings);
}
