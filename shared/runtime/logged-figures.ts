/** Sums the figures that stand in the log alone: counts by their names, and durations by their number, mean and maximum. */

import { isSplit, type LoggedName, loggedUnits, OTHER, splitBy } from './metric-names.ts';

export interface LoggedFigures {
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
      counts.set(field, (counts.get(field) ?? 0) + value);
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
