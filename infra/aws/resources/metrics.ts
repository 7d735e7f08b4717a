/**
 * Defines the bridge's metrics for CloudWatch, with the names, units and dimensions of the code that emits them, and
 * what an alarm says of a metric: what it watches, when it is raised, and what it means for people.
 */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { METRIC_NAMESPACE, type MetricName } from '../../../shared/runtime/telemetry.ts';

/**
 * Returns a metric of all functions and accounts of one bridge. `bridgeName` is the only dimension that
 * `createPowertoolsTelemetry` writes.
 */
export function bridgeMetric(
  metricName: MetricName,
  bridgeName: string,
  options: Pick<cloudwatch.MetricOptions, 'statistic' | 'period' | 'label'> = {},
): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    dimensionsMap: { service: bridgeName },
    ...options,
  });
}

/** Computes the percentage that a part has of its whole. Without the whole it has no value. */
export function percentage(
  part: cloudwatch.IMetric,
  whole: cloudwatch.IMetric,
  period: Duration,
): cloudwatch.MathExpression {
  return new cloudwatch.MathExpression({
    expression: '100 * part / whole',
    usingMetrics: { part, whole },
    period,
  });
}

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
