/** Collects all logs and metrics of the code. */

import type { FigureName, LogFields, LogLevel, Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { WideWorld } from '../world.ts';

interface LogLine {
  readonly atMs: number;
  readonly by: string;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

export interface Ear {
  readonly lines: LogLine[];
  /** Holds the sum of each metric. */
  readonly sums: Map<FigureName, number>;
  /** Holds every detection delay with the time at which it was measured. */
  readonly delays: { readonly atMs: number; readonly delayMs: number }[];
  telemetryOf(by: string): Telemetry;
}

export function createEar(world: WideWorld): Ear {
  const lines: LogLine[] = [];
  const sums = new Map<FigureName, number>();
  const delays: { atMs: number; delayMs: number }[] = [];
  return {
    lines,
    sums,
    delays,
    telemetryOf: (by) => ({
      log(level, event, fields = {}) {
        lines.push({ atMs: world.scheduler.now(), by, level, event, fields });
        world.note(by, `log ${level} ${event}`, () => JSON.stringify(fields));
      },
      measure(metric, value) {
        sums.set(metric, (sums.get(metric) ?? 0) + value);
        if (metric === 'DetectionDelayMs') delays.push({ atMs: world.scheduler.now(), delayMs: value });
      },
    }),
  };
}
