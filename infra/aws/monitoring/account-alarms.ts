/** Defines the alarms about each account: whether it is read in time, and whether its events reach the bus. */

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import { type AlarmDefinition, FIVE_MINUTES } from './alarm-definition.ts';
import { bridgeMetric, percentage } from './metrics.ts';

export function accountAlarms(config: BridgeConfig): readonly AlarmDefinition[] {
  const { walk_age_minutes, unpublished_age_minutes, throttled_percent } = config.thresholds;
  const period = FIVE_MINUTES;
  return config.accounts.flatMap(({ account_id }) => {
    const of = (metric: MetricName, statistic: string) =>
      bridgeMetric(metric, { service: 'poller', account: account_id }, { statistic, period });
    return [
      {
        name: `no-complete-walk:${account_id}`,
        means: `Some project of account ${account_id} has not been read completely for ${walk_age_minutes} minutes, or the poller says nothing at all: events are late.`,
        metric: of('WalkAgeMs', 'Maximum'),
        threshold: walk_age_minutes * 60_000,
        periods: 3,
        missing: cloudwatch.TreatMissingData.BREACHING,
      },
      {
        name: `unpublished-events:${account_id}`,
        means: `Events of account ${account_id} are recorded and do not get through to the bus.`,
        metric: of('UnpublishedAgeMs', 'Maximum'),
        threshold: unpublished_age_minutes * 60_000,
        periods: 2,
      },
      {
        name: `key-rejected:${account_id}`,
        means: `The upstream refuses the key of account ${account_id}; nothing is read until there is a valid one.`,
        metric: of('KeyRejected', 'Sum'),
        threshold: 0,
      },
      {
        name: `upstream-throttled:${account_id}`,
        means: `The upstream refuses more than ${throttled_percent} % of the requests of account ${account_id} for their rate; events come later.`,
        metric: percentage(of('UpstreamThrottled', 'Sum'), of('UpstreamRequests', 'Sum'), period),
        threshold: throttled_percent,
        periods: 3,
      },
      {
        name: `events-parked:${account_id}`,
        means: `The bus refused an event of account ${account_id} for good; it waits for a person.`,
        metric: of('EventsParked', 'Sum'),
        threshold: 0,
      },
      {
        name: `bound-met:${account_id}`,
        means: `Account ${account_id} has met a bound of docs/limits.md; part of it may not be watched.`,
        metric: of('BoundMet', 'Sum'),
        threshold: 0,
      },
      {
        name: `items-unreadable:${account_id}`,
        means: `An item of account ${account_id} in the table cannot be read by this version: it is skipped and kept, and everything else continues to work.`,
        metric: of('ItemsUnreadable', 'Sum'),
        threshold: 0,
        periods: 2,
      },
    ];
  });
}
