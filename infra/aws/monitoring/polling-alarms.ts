/**
 * Defines the alarms about the accounts: whether they are read in time, and whether their events reach the bus. One
 * alarm of a kind serves all accounts. It watches the worst account, which the log names.
 */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import { type AlarmDefinition, FIVE_MINUTES } from './alarm-definition.ts';
import { bridgeMetric } from './metrics.ts';

export function pollingAlarms({ name, thresholds }: BridgeConfig): readonly AlarmDefinition[] {
  const { walk_age_minutes, unpublished_age_minutes, throttled_percent } = thresholds;
  const of = (metric: MetricName, statistic: string) =>
    bridgeMetric(metric, name, { statistic, period: FIVE_MINUTES });
  return [
    objectiveAlarm(name, thresholds),
    {
      name: 'no-complete-walk',
      means: `Some project of an account has not been read completely for ${walk_age_minutes} minutes, or the poller says nothing at all: events are late.`,
      metric: of('WalkAgeMs', 'Maximum'),
      threshold: walk_age_minutes * 60_000,
      periods: 3,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'unpublished-events',
      means: 'Events are recorded and do not get through to the bus.',
      metric: of('UnpublishedAgeMs', 'Maximum'),
      threshold: unpublished_age_minutes * 60_000,
      periods: 2,
    },
    {
      name: 'key-rejected',
      means: 'The upstream refuses the key of an account; nothing of it is read until there is a valid one.',
      metric: of('KeyRejected', 'Sum'),
      threshold: 0,
    },
    {
      name: 'secrets-unreadable',
      means:
        'A secret cannot be read. The bridge goes on with what it read last, for a day at most; a function that starts anew cannot.',
      metric: of('SecretsUnreadable', 'Sum'),
      threshold: 0,
    },
    {
      name: 'upstream-throttled',
      means: `The upstream refuses more than ${throttled_percent} % of the requests of an account for their rate; its events come later.`,
      metric: of('UpstreamThrottledPercent', 'Maximum'),
      threshold: throttled_percent,
      periods: 3,
    },
    {
      name: 'events-parked',
      means: 'The bus refused an event for good; it waits for a person.',
      metric: of('EventsParked', 'Sum'),
      threshold: 0,
    },
    {
      name: 'bound-met',
      means: 'An account has met a bound of docs/limits.md; part of it may not be watched.',
      metric: of('BoundMet', 'Sum'),
      threshold: 0,
    },
    {
      name: 'accounts-set-aside',
      means:
        'The poller of an account throws an error again and again; its events are late, and its lane goes on.',
      metric: of('AccountsSetAside', 'Sum'),
      threshold: 0,
      periods: 3,
    },
    {
      name: 'lane-overloaded',
      means:
        'A lane has more to do than one process can: its accounts are polled late. The log says what helps.',
      metric: of('LaneLoadPercent', 'Maximum'),
      threshold: 100,
      periods: 3,
    },
    {
      name: 'items-unreadable',
      means:
        'An item of the table cannot be read by this version: it is skipped and kept, and everything else continues to work.',
      metric: of('ItemsUnreadable', 'Sum'),
      threshold: 0,
      periods: 2,
    },
  ];
}

/** The objective is judged over an hour, so that a handful of late events in a quiet account is not the whole share. */
const OBJECTIVE_PERIOD = Duration.hours(1);

/**
 * Returns the alarm about the objective of the whole bridge. The percentile rank `PR(:x)` is the percentage of the
 * values that are at most `x` (CloudWatch User Guide, "Statistics definitions"), so the share needs no metric of its own.
 */
function objectiveAlarm(
  bridgeName: string,
  { published_within_seconds, published_in_time_percent }: BridgeConfig['thresholds'],
): AlarmDefinition {
  return {
    name: 'events-late',
    means: `Fewer than ${published_in_time_percent} % of the events of an hour were published within ${published_within_seconds} seconds of the upstream's own time.`,
    metric: bridgeMetric('PublishDelayMs', bridgeName, {
      statistic: `PR(:${published_within_seconds * 1_000})`,
      period: OBJECTIVE_PERIOD,
    }),
    threshold: published_in_time_percent,
    isBelow: true,
  };
}
