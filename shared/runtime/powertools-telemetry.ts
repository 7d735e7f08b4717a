/**
 * Implements `Telemetry` with Powertools: it writes JSON log lines, and metrics in the embedded format that
 * CloudWatch reads.
 */

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import {
  isSplit,
  METRIC_NAMESPACE,
  type MetricName,
  metricUnits,
  OTHER,
  type SplitMetricName,
  splitBy,
  splitMetrics,
} from './metric-names.ts';
import type { Telemetry } from './telemetry.ts';

export interface FlushableTelemetry extends Telemetry {
  /** Writes the metrics collected since the previous call: a line or two per invocation instead of one per poll. */
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
  const split = new Map<SplitMetricName, Map<string, number>>();

  return {
    log(level, event, fields = {}) {
      logger[level](event, fields);
    },
    measure(metric, value, name = OTHER) {
      if (isSplit(metric)) return addSplit(metric, splitBy(metric, name), value);
      const values = collected.get(metric) ?? [];
      // Counts add up to one number. Every duration is kept, for percentiles.
      if (metricUnits[metric] === 'Count') collected.set(metric, [(values[0] ?? 0) + value]);
      else collected.set(metric, [...values, value]);
    },
    flush() {
      flushSplit();
      publishCollected(metrics, collected);
    },
  };

  function addSplit(metric: SplitMetricName, name: string, value: number): void {
    const counts = split.get(metric) ?? new Map<string, number>();
    split.set(metric, counts.set(name, (counts.get(name) ?? 0) + value));
  }

  /** Each value needs a record of its own, because a record has one set of dimensions. */
  function flushSplit(): void {
    for (const [metric, counts] of split) {
      for (const [name, value] of counts) {
        const single = metrics.singleMetric();
        single.addDimension(splitMetrics[metric].dimension, name);
        single.addMetric(metric, metricUnits[metric], value);
      }
    }
    split.clear();
  }
}

/** Empties `collected`, in as many records as the values of its fullest metric need. */
function publishCollected(metrics: Metrics, collected: Map<MetricName, number[]>): void {
  while (collected.size > 0) {
    for (const [metric, values] of collected) {
      for (const value of values.splice(0, VALUES_PER_RECORD_MAX)) {
        metrics.addMetric(metric, metricUnits[metric], value);
      }
      if (values.length === 0) collected.delete(metric);
    }
    metrics.publishStoredMetrics();
  }
}
