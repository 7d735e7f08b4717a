/** Defines the alarms about the functions themselves: whether their invocations end well. */

import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { BridgeFunction } from '../resources/bridge-function.ts';
import { type AlarmDefinition, depthOf, FIVE_MINUTES } from './alarm-definition.ts';

/** A single failed sweep is made good by the next one, a minute later. */
const ERRORS_MAX = 2;

/** Returns the alarm about invocations that fail. The schedule and the queue invoke the function again. */
export function functionAlarm({ name, lambda }: BridgeFunction): AlarmDefinition {
  return {
    name: `function-errors:${name}`,
    means: `More than ${ERRORS_MAX} invocations of the ${name} fail in five minutes.`,
    metric: lambda.metricErrors({ period: FIVE_MINUTES, statistic: 'Sum' }),
    threshold: ERRORS_MAX,
    periods: 2,
  };
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
