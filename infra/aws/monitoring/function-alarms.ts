/** Defines the alarms about the functions themselves: whether they start, end well, and end in time. */

import { Duration } from 'aws-cdk-lib';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { functionDefinitions } from '../../functions.ts';
import type { BridgeFunction } from '../resources/bridge-function.ts';
import { type AlarmDefinition, depthOf, FIVE_MINUTES } from './alarm-definition.ts';

/** A single failed sweep is made good by the next one, a minute later. */
const ERRORS_MAX = 2;

/** Each function stops its own work before this share of its time-out, so a longer invocation waits for something that does not end. */
const DURATION_PERCENT_MAX = 95;

/** Beyond this share of its reserved instances a function has little room for one more busy caller. */
const RESERVED_PERCENT_MAX = 80;

/** Returns the alarms about a function that is invoked by requests or messages. The poller has one of its own, because it works until its time is over. */
export function functionAlarms({ name, lambda }: BridgeFunction): readonly AlarmDefinition[] {
  const sum = { period: FIVE_MINUTES, statistic: 'Sum' };
  const longestMs = (functionDefinitions[name].timeoutMs * DURATION_PERCENT_MAX) / 100;
  return [
    {
      name: `function-errors:${name}`,
      means: `More than ${ERRORS_MAX} invocations of the ${name} function fail in five minutes.`,
      metric: lambda.metricErrors(sum),
      threshold: ERRORS_MAX,
      periods: 2,
    },
    {
      name: `function-throttled:${name}`,
      means: `Lambda does not start the ${name} function: the AWS account, or what is reserved for the function, has no free instance.`,
      metric: lambda.metricThrottles(sum),
      threshold: 0,
      periods: 2,
    },
    {
      name: `function-slow:${name}`,
      means: `Invocations of the ${name} function take almost as long as Lambda lets them, and may be killed in the middle of their work.`,
      metric: lambda.metricDuration({ period: FIVE_MINUTES, statistic: 'Maximum' }),
      threshold: longestMs,
      periods: 2,
    },
  ];
}

/** Returns the alarm about a function that has almost as many instances at work as are reserved for it; none without a reservation. */
export function reservationAlarms(
  { name, lambda }: BridgeFunction,
  reserved: number | undefined,
): readonly AlarmDefinition[] {
  if (reserved === undefined) return [];
  return [
    {
      name: `function-crowded:${name}`,
      means: `More than ${RESERVED_PERCENT_MAX} % of the instances that are reserved for the ${name} function are at work.`,
      metric: lambda.metric('ConcurrentExecutions', { period: Duration.minutes(1), statistic: 'Maximum' }),
      threshold: (reserved * RESERVED_PERCENT_MAX) / 100,
      periods: 5,
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
