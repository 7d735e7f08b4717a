/** Defines the alarms about the bus: whether events get through it, and to the targets of its rules. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { type BridgeBus, CANARY_EVERY_MINUTES } from '../resources/bridge-bus.ts';
import { type AlarmDefinition, depthOf } from './alarm-definition.ts';

export function deliveryAlarms({ canaryQueue, undelivered }: BridgeBus): readonly AlarmDefinition[] {
  return [
    {
      name: 'canary-missing',
      means: 'The canary event does not come through the bus and a rule: real events may not either.',
      metric: canaryQueue.metricNumberOfMessagesSent({
        period: Duration.minutes(CANARY_EVERY_MINUTES),
        statistic: 'Sum',
      }),
      threshold: 1,
      isBelow: true,
      periods: 3,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'events-undelivered',
      means:
        'A rule or a schedule of the bridge could not reach its target; what it was to hand over waits in the queue for undelivered ones.',
      metric: depthOf(undelivered),
      threshold: 0,
    },
  ];
}
