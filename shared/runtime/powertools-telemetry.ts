/** `Telemetry` through Powertools: JSON log lines, and metrics in the embedded format that CloudWatch reads from them. */

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE, metricUnits } from './metric-names.ts';
import type { Telemetry } from './telemetry.ts';

export interface FlushableTelemetry extends Telemetry {
  /** Writes the metrics collected so far: one line per invocation, not one per poll. */
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
  const valueCounts = new Map<string, number>();
  const flush = () => {
    metrics.publishStoredMetrics();
    valueCounts.clear();
  };
  return {
    log(level, event, fields = {}) {
      logger[level](event, fields);
    },
    measure(metric, value) {
      const count = (valueCounts.get(metric) ?? 0) + 1;
      if (count > VALUES_PER_RECORD_MAX) flush();
      valueCounts.set(metric, (valueCounts.get(metric) ?? 0) + 1);
      metrics.addMetric(metric, metricUnits[metric], value);
    },
    flush,
  };
}
