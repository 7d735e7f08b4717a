/** Defines the alarms about the functions themselves: whether their invocations begin and end well. */

import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { BridgeFunction } from '../resources/bridge-function.ts';
import { type AlarmDefinition, depthOf, FIVE_MINUTES } from './alarm-definition.ts';
import { percentage } from './metrics.ts';

/**
 * One failure among the poller's five invocations in five minutes is more than this share, so the alarm needs it
 * twice in a row.
 */
const ERROR_PERCENT_MAX = 10;

export function functionAlarms({ name, lambda }: BridgeFunction): readonly AlarmDefinition[] {
  const sum = { period: FIVE_MINUTES, statistic: 'Sum' };
  return [
    {
      name: `function-errors:${name}`,
      means: `More than ${ERROR_PERCENT_MAX} % of the invocations of the ${name} fail.`,
      metric: percentage(lambda.metricErrors(sum), lambda.metricInvocations(sum), FIVE_MINUTES),
      threshold: ERROR_PERCENT_MAX,
      periods: 2,
    },
    {
      name: `function-throttles:${name}`,
      means: `The ${name} is not run because too much runs at once.`,
      metric: lambda.metricThrottles(sum),
      threshold: 2,
      periods: 3,
    },
  ];
}

/** Returns the alarm about invocations of the poller that ended with an error or did not begin. */
export function pollerFailureAlarm(failures: sqs.Queue): AlarmDefinition {
  return {
    name: 'poller-failures',
    means: 'Invocations of the poller ended with an error or did not begin; the next minute tries again.',
    metric: depthOf(failures),
    threshold: 0,
  };
}
