/** Derives the lanes of a deployment from its configuration: the accounts and the memory of each. */

import { laneOf } from '../../../shared/accounts/lane-of.ts';
import type { PollAccountRequest, PollLaneRequest } from '../../../shared/config/poller-config.ts';
import { type BridgeConfig, laneCountOf } from '../../config/bridge-config.ts';
import { functionDefinitions } from '../../functions.ts';

export interface Lane {
  readonly number: number;
  readonly memoryMb: number;
  /** The schedule of the lane passes this, which is exactly what the handler parses. */
  readonly request: PollLaneRequest;
}

export function lanesOf(config: BridgeConfig): readonly Lane[] {
  const laneCount = laneCountOf(config);
  const usualMemoryMb = config.poller_memory_mb ?? functionDefinitions.poller.memoryMb;
  return Array.from({ length: laneCount }, (_, number) => {
    const accounts = config.accounts.filter((account) => laneOf(account, laneCount, config.lanes) === number);
    return {
      number,
      memoryMb: config.own_lanes[number - config.lanes]?.memory_mb ?? usualMemoryMb,
      request: {
        lane: number,
        lanes: laneCount,
        shared_lanes: config.lanes,
        accounts: accounts.map(pollRequestOf),
      },
    };
  });
}

function pollRequestOf(account: BridgeConfig['accounts'][number]): PollAccountRequest {
  const { account_id, upstream_base_url, key_secret_arn, poller_requests_per_minute } = account;
  const { command_requests_per_minute, limit_requests_per_minute } = account;
  const { poll_interval_seconds, linger_seconds, stalled_after_seconds, backfill, project_ids } = account;
  return {
    account_id,
    upstream_base_url,
    key_secret_id: key_secret_arn,
    requests_per_minute: poller_requests_per_minute,
    command_requests_per_minute,
    limit_requests_per_minute,
    ...(poll_interval_seconds !== undefined && { poll_interval_seconds }),
    linger_seconds,
    stalled_after_seconds,
    backfill,
    ...(project_ids && { project_ids }),
  };
}
