/** Sums the figures that stand in the log alone: counts by their names, and durations by their number, mean and maximum. Of others the latest counts. */

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { once } from './on-demand.ts';
import {
  isMetric,
  isSplit,
  type LoggedName,
  loggedUnits,
  METRIC_NAMESPACE,
  type MetricName,
  metricUnits,
  OTHER,
  splitBy,
  type Telemetry,
} from './telemetry.ts';

interface LoggedFigures {
  /** `name` is what the figure is split by. */
  add(figure: LoggedName, value: number, name?: string): void;
  /** Returns the fields of one log line, and begins again. There are none when nothing was added. */
  take(): Readonly<Record<string, number>>;
}

interface Durations {
  readonly count: number;
  readonly sumMs: number;
  readonly maxMs: number;
}

export function sumFigures(): LoggedFigures {
  const counts = new Map<string, number>();
  const durations = new Map<string, Durations>();
  return {
    add(figure, value, name = OTHER) {
      if (loggedUnits[figure] === 'Milliseconds') {
        const { count, sumMs, maxMs } = durations.get(figure) ?? { count: 0, sumMs: 0, maxMs: 0 };
        durations.set(figure, { count: count + 1, sumMs: sumMs + value, maxMs: Math.max(maxMs, value) });
        return;
      }
      const field = isSplit(figure) ? `${figure}.${splitBy(figure, name)}` : figure;
      counts.set(field, loggedUnits[figure] === 'Latest' ? value : (counts.get(field) ?? 0) + value);
    },
    take() {
      const fields = Object.fromEntries([
        ...counts,
        ...[...durations].flatMap(([figure, { count, sumMs, maxMs }]) => [
          [`${figure}.count`, count],
          [`${figure}.mean`, Math.round(sumMs / count)],
          [`${figure}.max`, maxMs],
        ]),
      ]);
      counts.clear();
      durations.clear();
      return fields;
    },
  };
}

export interface FlushableTelemetry extends Telemetry {
  /** Writes what was measured since the previous call: a line or two per invocation instead of one per poll. */
  flush(): void;
}

export interface TelemetrySource {
  /** The log lines carry this name of the function. */
  readonly functionName: string;
  /**
   * The metrics of all functions of one deployed bridge have this name as their only dimension, so their number does not grow
   * with accounts, and two bridges in one AWS account stay apart.
   */
  readonly bridgeName: string;
  /** The log lines, and the lines of the metrics, carry the account. It is undefined in functions that serve all accounts. */
  readonly accountId?: string | undefined;
}

/**
 * CloudWatch takes at most 100 values of one metric in one record (CloudWatch embedded metric format). At that number
 * Powertools writes the record by itself.
 */
const VALUES_PER_RECORD_MAX = 99;

export function createPowertoolsTelemetry(source: TelemetrySource): FlushableTelemetry {
  const { functionName, bridgeName, accountId } = source;
  const account = accountId === undefined ? {} : { account_id: accountId };
  // A cold start waits for neither, and a request that logs nothing needs no logger.
  const logger = once(() => new Logger({ serviceName: functionName, persistentKeys: account }));
  const metrics = once(() => new Metrics({ namespace: METRIC_NAMESPACE, serviceName: bridgeName }));
  const collected = new Map<MetricName, number[]>();
  const figures: LoggedFigures = sumFigures();

  return {
    log(level, event, fields = {}) {
      logger()[level](event, fields);
    },
    measure(figure, value, name) {
      if (!isMetric(figure)) return figures.add(figure, value, name);
      const values = collected.get(figure) ?? [];
      // Counts add up to one number. Every duration and share is kept, for percentiles and maxima.
      if (metricUnits[figure] === 'Count') collected.set(figure, [(values[0] ?? 0) + value]);
      else collected.set(figure, [...values, value]);
    },
    flush() {
      const fields = figures.take();
      if (Object.keys(fields).length > 0) logger().info('figures.logged', fields);
      if (collected.size > 0) publishCollected(metrics(), collected, { ...account, function: functionName });
    },
  };
}

/**
 * Empties `collected`, in as many records as the values of its fullest metric need. `origin` stands beside the metrics
 * in the log, where it names the worst account, and is no dimension.
 */
function publishCollected(
  metrics: Metrics,
  collected: Map<MetricName, number[]>,
  origin: Readonly<Record<string, string>>,
): void {
  while (collected.size > 0) {
    for (const [name, value] of Object.entries(origin)) metrics.addMetadata(name, value);
    for (const [metric, values] of collected) {
      for (const value of values.splice(0, VALUES_PER_RECORD_MAX)) {
        metrics.addMetric(metric, metricUnits[metric], value);
      }
      if (values.length === 0) collected.delete(metric);
    }
    metrics.publishStoredMetrics();
  }
}
