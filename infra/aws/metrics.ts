/** Metrics of the bridge as CloudWatch knows them: the emitting code's own names, units and dimensions. */

import type { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import {
  isSplit,
  METRIC_NAMESPACE,
  type MetricName,
  type SplitMetricName,
  splitMetrics,
} from '../../shared/runtime/metric-names.ts';

/** As `createPowertoolsTelemetry` writes them. */
export interface BridgeDimensions {
  readonly service: string;
  readonly account: string;
  /** Of a metric that is split: the value of its dimension. */
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

/** Whatever values of its dimension there are, of all accounts: each becomes a line of its own. */
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

/** A share of something in percent; without the whole there is no share. */
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
