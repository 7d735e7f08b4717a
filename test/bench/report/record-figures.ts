/** Keeps the figures of a run, one row a line, and writes them into docs/performance.md. */

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Figures } from '../measure.ts';
import { RANGES } from '../world/drawn-world.ts';
import { type BenchRecord, type BenchRow, performanceDocs } from './performance-page.ts';

const FILE = resolve(import.meta.dirname, 'recorded.json');

/** Four digits are more than two runs with different seeds agree on. */
const DIGITS = 4;

export function recordFigures(figures: readonly Figures[], now: Date): string {
  const record: BenchRecord = {
    measured_on: now.toISOString().slice(0, 10),
    ranges: Object.entries(RANGES).map(([quantity, { min, max }]) => ({ quantity, min, max })),
    rows: figures.map(rowOf),
  };
  const lines = record.rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  const { rows: _rows, ...head } = record;
  const ranges = JSON.stringify(head.ranges);
  writeFileSync(
    FILE,
    `{\n  "measured_on": "${head.measured_on}",\n  "ranges": ${ranges},\n  "rows": [\n${lines}\n  ]\n}\n`,
  );
  for (const { path, text } of performanceDocs(record)) writeFileSync(path, text);
  return FILE;
}

function rowOf(figures: Figures): BenchRow {
  const {
    world,
    policy,
    engine,
    projects,
    seed,
    seed_count,
    hours,
    requests_per_minute,
    transitions,
    waiting,
  } = figures;
  return {
    world,
    policy,
    engine,
    projects,
    seed,
    seed_count,
    hours,
    requests_per_minute,
    transitions,
    waiting,
    mean_s: rounded(figures.mean_s),
    p50_s: rounded(figures.p50_s),
    p95_s: rounded(figures.p95_s),
    p99_s: rounded(figures.p99_s),
    bound_s: rounded(figures.bound_s),
    ...(figures.tight_bound_s !== undefined && { tight_bound_s: rounded(figures.tight_bound_s) }),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}
