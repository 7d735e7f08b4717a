/** Writes the figures of docs/performance.md, and which goals are met, from the recorded run of the benchmark. */

import { type BenchRecord, type BenchRow, recordedBench } from '../bench/bench-row.ts';
import {
  bestRival,
  type Goal,
  goalsOf,
  isMet,
  lostRows,
  overBound,
  PLANNER,
  PLANNER_WITH_HINTS,
} from '../bench/goals.ts';
import { type GeneratedFile, withSection } from './generated-section.ts';

const PAGE = 'docs/performance.md';

export function performanceDocs(record: BenchRecord = recordedBench): readonly GeneratedFile[] {
  return [withSection(PAGE, 'benchmark', benchmarkSection(record))];
}

export function benchmarkSection({ measured_on, note, rows }: BenchRecord): string {
  const [first] = rows;
  if (first === undefined) return 'No run of the benchmark is recorded.';
  return `Measured on ${measured_on} with ${first.requests_per_minute} requests a minute.${note === undefined ? '' : ` ${note}`}

### Goals

${goalsList(goalsOf(rows))}

${lostSentence(lostRows(rows), rows)}

### Mean delay

In seconds; the number in brackets is the multiple of the bound.

${meansTable(rows)}

${drawnSentence(rows)}`;
}

function goalsList(goals: readonly Goal[]): string {
  const lines = goals.map((goal) => {
    const { text, measured, max, unit } = goal;
    const shown = measured === undefined ? 'not measured' : `${shortNumber(measured)} ${unit}`;
    return `- ${text}: ${shown} (at most ${max}), ${isMet(goal) ? 'met' : '**missed**'}`;
  });
  return lines.join('\n');
}

function meansTable(rows: readonly BenchRow[]): string {
  const named = rows.filter(({ world }) => !isDrawn(world));
  const sizes = [...new Set(named.map(({ projects }) => projects))].toSorted((a, b) => a - b);
  const columns = [PLANNER, PLANNER_WITH_HINTS].flatMap((policy) => sizes.map((size) => ({ policy, size })));
  const heads = columns.map(
    ({ policy, size }) =>
      `${size.toLocaleString('en')} projects${policy === PLANNER_WITH_HINTS ? ', list shows all' : ''}`,
  );
  const lines = [...new Set(named.map(({ world }) => world))].map((world) => {
    const cells = columns.map(({ policy, size }) => {
      const row = named.find(
        (each) => each.world === world && each.policy === policy && each.projects === size,
      );
      if (row === undefined) return '';
      const mean = shortNumber(row.mean_s);
      return policy === PLANNER ? `${mean} (${shortNumber(overBound(row))})` : mean;
    });
    return `| ${world} | ${cells.join(' | ')} |`;
  });
  return [`| world | ${heads.join(' | ')} |`, `|---|${heads.map(() => '--:|').join('')}`, ...lines].join(
    '\n',
  );
}

function lostSentence(lost: readonly BenchRow[], rows: readonly BenchRow[]): string {
  const { length } = rows.filter(({ policy }) => policy === PLANNER || policy === PLANNER_WITH_HINTS);
  if (lost.length === 0) return `No rival is better than the planner in any of the ${length} rows.`;
  const places = lost.map((row) => {
    const rival = bestRival(rows, row);
    return `${row.world} with ${row.projects.toLocaleString('en')} projects (${rival?.policy}, ${shortNumber(rival?.mean_s ?? 0)} s)`;
  });
  return `A rival is better than the planner in ${lost.length} of ${length} rows: ${places.join('; ')}.`;
}

function drawnSentence(rows: readonly BenchRow[]): string {
  const ratios = rows
    .filter(({ policy, world }) => policy === PLANNER && isDrawn(world))
    .map(overBound)
    .toSorted((a, b) => a - b);
  const [median = 0, worst = 0] = [ratios[Math.floor(ratios.length / 2)], ratios.at(-1)];
  return `Of ${ratios.length} worlds that were drawn by their seeds, without hints, the median has ${shortNumber(median)} times the bound, and the worst ${shortNumber(worst)} times.`;
}

function isDrawn(world: string): boolean {
  return world.startsWith('drawn-');
}

/** Shows three digits at most. */
function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}
