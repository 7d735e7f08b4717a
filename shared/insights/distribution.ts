/**
 * Keeps how often values occurred, in bins of DDSketch: a bin is 4 % wide, so that every quantile is within 2 % of the
 * true one, whichever bins were added together before (Masson et al., "DDSketch", VLDB 2019).
 */

import { DDSketch } from '@datadog/sketches-js';

/** Counts values by the number of their bin. */
export type Bins = Readonly<Record<string, number>>;

/** Describes a distribution of values that are at least 1. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const RELATIVE_ACCURACY = 0.02;

/** Values are kept within these bounds, so that at most 542 bins are ever used. The upper one is 30 days in milliseconds. */
const VALUE_MIN = 1;
export const VALUE_MAX = 30 * 24 * 3_600_000;

const { mapping } = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });

/** The number of the last bin. The first one has the number 0. */
export const BIN_MAX = binOf(VALUE_MAX);

export function addValues(bins: Bins, values: readonly number[]): Bins {
  const added: Record<string, number> = { ...bins };
  for (const value of values) {
    const bin = binOf(value);
    added[bin] = (added[bin] ?? 0) + 1;
  }
  return added;
}

/** Returns the quantiles of all bins together. They are `NaN` when the bins are empty. */
export function quantilesOf(all: readonly Bins[]): Quantiles {
  const sketch = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });
  for (const bins of all) {
    for (const [bin, count] of Object.entries(bins)) sketch.accept(mapping.value(Number(bin)), count);
  }
  const at = (quantile: number) => Math.round(sketch.getValueAtQuantile(quantile));
  return { count: sketch.count, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function binOf(value: number): number {
  return mapping.key(Math.min(Math.max(value, VALUE_MIN), VALUE_MAX));
}
