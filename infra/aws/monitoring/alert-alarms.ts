/** Defines the alarms about alerts: whether failures reach people. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { DEAF_MS } from '../../../shared/alerts/deaf-channel.ts';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import type { Notifier } from '../resources/notifier.ts';
import { type AlarmDefinition, depthOf, FIVE_MINUTES } from './alarm-definition.ts';
import { bridgeMetric } from './metrics.ts';

export function alertAlarms(
  bridgeName: string,
  { queue, deadLetters }: Notifier,
): readonly AlarmDefinition[] {
  const period = FIVE_MINUTES;
  return [
    {
      name: 'alerts-waiting',
      means: 'Failures wait in the queue of the notifier, so alerts are late.',
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' }),
      threshold: 300,
    },
    {
      name: 'alerts-dead-letters',
      means: 'The notifier gave up on an event, so the alert about a failure was not sent.',
      metric: depthOf(deadLetters),
      threshold: 0,
    },
    ...channelAlarms(bridgeName),
  ];
}

/**
 * Returns the alarms of the channels. Every sweep of the notifier measures how long each channel has taken nothing,
 * so a notifier that stops raises these alarms, too.
 */
function channelAlarms(bridgeName: string): readonly AlarmDefinition[] {
  const of = (metric: MetricName, statistic: string, period: Duration) =>
    bridgeMetric(metric, bridgeName, { statistic, period });
  return [
    {
      name: 'channel-deaf',
      means:
        'For ten minutes an alert channel has taken nothing although something waits for it, or the notifier does not run.',
      metric: of('ChannelDeafMs', 'Maximum', Duration.minutes(1)),
      threshold: DEAF_MS - 1,
      // A single late sweep raises no alarm.
      periods: 2,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'alerts-refused',
      means: 'A channel refused an alert for good. It is kept, and a person has to pass it on.',
      metric: of('AlertsRefused', 'Sum', Duration.minutes(5)),
      threshold: 0,
    },
  ];
}
