/**
 * Defines the only way in which the bridge writes log lines and metrics. Their fields are named one by one where they
 * are written, and no request, answer or error object is ever passed on whole.
 */

import type { FigureName } from './metric-names.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A log line holds plain values only. A whole event, header, body or error object must not be logged. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Telemetry {
  log(level: LogLevel, event: string, fields?: LogFields): void;
  /**
   * The unit is part of the figure's name. `name` is what a figure is split by (`splitFigures`). A metric goes to
   * CloudWatch; every other figure goes into one log line per invocation.
   */
  measure(figure: FigureName, value: number, name?: string): void;
}

export const silentTelemetry: Telemetry = { log: () => {}, measure: () => {} };
