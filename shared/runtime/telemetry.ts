/** What the bridge says about itself: log lines and metrics through one narrow door, so that fields stay an allow-list. */

import type { MetricName } from './metric-names.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Plain values only: never an event, a header, a body or an error object as a whole. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Telemetry {
  log(level: LogLevel, event: string, fields?: LogFields): void;
  /** The unit is part of the metric's name. `name`: of the status or action, for a metric that is split by it. */
  measure(metric: MetricName, value: number, name?: string): void;
}

export const silentTelemetry: Telemetry = { log: () => {}, measure: () => {} };
