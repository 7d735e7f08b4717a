/** Metrics of the bridge as CloudWatch knows them: the emitting code's own names, units and dimensions. */

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE, type MetricName } from '../../shared/runtime/metric-names.ts';

/** As `createPowertoolsTelemetry` writes them. */
export interface BridgeDimensions {
  readonly service: string;
  readonly account: string;
}

export function bridgeMetric(
  metricName: MetricName,
  dimensions: BridgeDimensions,
  options: Pick<cloudwatch.MetricOptions, 'statistic' | 'period' | 'label'> = {},
): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    dimensionsMap: { ...dimensions },
    ...options,
  });
}
