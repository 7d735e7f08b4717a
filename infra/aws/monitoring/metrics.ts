/** Defines the bridge's metrics for CloudWatch, with the names, units and dimensions of the code that emits them. */

import type { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import {
  isSplit,
  METRIC_NAMESPACE,
  type MetricName,
  type SplitMetricName,
  splitMetrics,
} from '../../../shared/runtime/metric-names.ts';

/** These are the dimensions that `createPowertoolsTelemetry` writes. */
export interface BridgeDimensions {
  readonly service: string;
  readonly account: string;
  /** The metric is split by a dimension, and this is its value. */
  readonly by?: string;
}

export function bridgeMetric(
  metricName: MetricName,
  { by, ...dimensions }: BridgeDimensions,
  options: Pick<cloudwatch.MetricOptions, 'statistic' | 'period' | 'label'> = {},
): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    dimensionsMap: { ...dimensions, ...(by !== undefined && { [dimensionOf(metricName)]: by }) },
    ...options,
  });
}

function dimensionOf(metric: MetricName): string {
  if (isSplit(metric)) return splitMetrics[metric].dimension;
  throw new Error(`The metric ${metric} is not split by anything`);
}

/** Shows one line for each value of the metric's dimension, over all accounts. */
export function splitMetric(metricName: SplitMetricName, period: Duration): cloudwatch.MathExpression {
  const { dimension } = splitMetrics[metricName];
  const schema = [METRIC_NAMESPACE, ...['account', 'service', dimension].toSorted()].join(',');
  return new cloudwatch.MathExpression({
    expression: `SEARCH('{${schema}} MetricName="${metricName}"', 'Sum', ${period.toSeconds()})`,
    label: `\${PROP('Dim.account')} \${PROP('Dim.${dimension}')}`,
    usingMetrics: {},
    period,
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
