/** Defines one alarm: what it watches, when it is raised, and what it means for people. */

import { Duration } from 'aws-cdk-lib';
import type * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as sqs from 'aws-cdk-lib/aws-sqs';

export interface AlarmDefinition {
  /** The name is also the anchor of the alarm's article in the runbook. */
  readonly name: string;
  readonly means: string;
  readonly metric: cloudwatch.IMetric;
  readonly threshold: number;
  readonly isBelow?: true;
  readonly periods?: number;
  readonly missing?: cloudwatch.TreatMissingData;
}

/** Metrics are evaluated over this time, unless an alarm needs another one. */
export const FIVE_MINUTES = Duration.minutes(5);

/** Counts the messages that wait in a queue. */
export function depthOf(queue: sqs.Queue): cloudwatch.IMetric {
  return queue.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES, statistic: 'Maximum' });
}
