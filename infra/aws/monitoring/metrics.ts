/** Defines the bridge's metrics for CloudWatch, with the names, units and dimensions of the code that emits them. */

import type { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE, type MetricName } from '../../../shared/runtime/metric-names.ts';

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
