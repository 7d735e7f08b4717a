/** `Telemetry` through Powertools: JSON log lines, and metrics in the embedded format that CloudWatch reads from them. */

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE, type MetricName, metricUnits } from './metric-names.ts';
import type { Telemetry } from './telemetry.ts';

export interface FlushableTelemetry extends Telemetry {
  /** Writes the metrics collected since the last time: a line or two per invocation, not one per poll. */
  flush(): void;
}

/** CloudWatch takes at most 100 values of one metric in one record (CloudWatch embedded metric format). */
const VALUES_PER_RECORD_MAX = 100;

export function createPowertoolsTelemetry(serviceName: string, accountId: string): FlushableTelemetry {
  const logger = new Logger({ serviceName, persistentKeys: { account_id: accountId } });
  const metrics = new Metrics({
    namespace: METRIC_NAMESPACE,
    serviceName,
    defaultDimensions: { account: accountId },
  });
  const collected = new Map<MetricName, number[]>();

  return {
    log(level, event, fields = {}) {
      logger[level](event, fields);
    },
    measure(metric, value) {
      const values = collected.get(metric) ?? [];
      // Counts add up to one number; of durations every one is kept, for percentiles.
      if (metricUnits[metric] === 'Count') collected.set(metric, [(values[0] ?? 0) + value]);
      else collected.set(metric, [...values, value]);
    },
    flush() {
      while (collected.size > 0) {
        for (const [metric, values] of collected) {
          for (const value of values.splice(0, VALUES_PER_RECORD_MAX)) {
            metrics.addMetric(metric, metricUnits[metric], value);
          }
          if (values.length === 0) collected.delete(metric);
        }
        metrics.publishStoredMetrics();
      }
    },
  };
}
