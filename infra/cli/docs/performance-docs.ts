/** Writes the figures of docs/performance.md, and which goals are met, from the recorded run of the benchmark. */

import { type BenchRecord, type BenchRow, recordedBench } from '../bench/bench-row.ts';
import {
  bestRival,
  type Goal,
  goalsOf,
  isMet,
  lostRows,
  overBound,
  overTightBound,
  PLANNER,
  PLANNER_WITH_HINTS,
} from '../bench/goals.ts';
import type { GeneratedFile } from './event-docs.ts';
import { withSection } from './generated-section.ts';

const PAGE = 'docs/performance.md';

export function performanceDocs(record: BenchRecord = recordedBench): readonly GeneratedFile[] {
  return [withSection(PAGE, 'benchmark', benchmarkSection(record))];
}

export function benchmarkSection({ measured_on, note, rows, ranges }: BenchRecord): string {
  const [first] = rows;
  if (first === undefined) return 'No run of the benchmark is recorded.';
  return `Measured on ${measured_on} by \`npm run bench\`: ${first.requests_per_minute} requests a minute, with as many seeds from ${first.seed} on as it takes to see 1,200 sessions (${Math.max(...rows.map(({ seed_count }) => seed_count))} at most). Delays are in seconds.${note === undefined ? '' : ` ${note}`}

## Goals

${goalsTable(goalsOf(rows))}

## Without hints

${worldTable(
  rows.filter(({ policy, world }) => policy === PLANNER && !isDrawn(world)),
  rows,
)}

## With a list that shows every transition

${worldTable(
  rows.filter(({ policy }) => policy === PLANNER_WITH_HINTS),
  rows,
)}

${lostSentence(lostRows(rows), plannerRows(rows).length)}

## Drawn worlds

${drawnSection(rows)}

Each quantity is drawn from its range: ${ranges.map(({ quantity, min, max }) => `\`${quantity}\` ${min} to ${max}`).join(', ')}.`;
}

function goalsTable(goals: readonly Goal[]): string {
  const lines = goals.map((goal) => {
    const { text, measured, max, unit } = goal;
    const shown = measured === undefined ? 'not measured' : `${shortNumber(measured)} ${unit}`;
    return `| ${text} | ${shown} | ${max} | ${isMet(goal) ? 'met' : '**missed**'} |`;
  });
  return ['| goal | measured | at most | |', '|---|--:|--:|---|', ...lines].join('\n');
}

function worldTable(own: readonly BenchRow[], all: readonly BenchRow[]): string {
  const head =
    '| world | projects | seeds | transitions | mean | p50 | p95 | p99 | bound | mean / bound | tighter bound | mean / tighter bound | best rival, its mean |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|';
  return [head, ...own.map((row) => worldLine(row, all))].join('\n');
}

function worldLine(row: BenchRow, all: readonly BenchRow[]): string {
  const cells = [row.mean_s, row.p50_s, row.p95_s, row.p99_s, row.bound_s, overBound(row)].map(shortNumber);
  const tight =
    row.tight_bound_s === undefined ? ['', ''] : [row.tight_bound_s, overTightBound(row)].map(shortNumber);
  const counts = [row.projects, row.seed_count, row.transitions].map((count) => count.toLocaleString('en'));
  return `| ${row.world} | ${counts.join(' | ')} | ${[...cells, ...tight].join(' | ')} | ${rivalCell(row, all)} |`;
}

function rivalCell(row: BenchRow, all: readonly BenchRow[]): string {
  const rival = bestRival(all, row);
  if (rival === undefined) return '';
  const shown = `${rival.policy}, ${shortNumber(rival.mean_s)}`;
  return rival.mean_s < row.mean_s ? `**${shown}**` : shown;
}

function lostSentence(lost: readonly BenchRow[], count: number): string {
  if (lost.length === 0) return `No rival is better than the planner in any of the ${count} rows.`;
  const drawnCount = lost.filter(({ world }) => isDrawn(world)).length;
  return `A rival is better than the planner in ${lost.length} of ${count} rows, and is set in bold there; ${drawnCount} of them are of drawn worlds.`;
}

function drawnSection(rows: readonly BenchRow[]): string {
  const drawn = rows.filter(({ policy, world }) => policy === PLANNER && isDrawn(world));
  const worst = drawn.toSorted((a, b) => overBound(b) - overBound(a)).slice(0, 3);
  const ratios = drawn.map(overBound).toSorted((a, b) => a - b);
  const median = ratios[Math.floor(ratios.length / 2)] ?? 0;
  return `${drawn.length} worlds were drawn by their seeds, with ${drawn[0]?.projects ?? 0} projects each and no hint. The median of mean over bound is ${shortNumber(median)}. These are the worst three:

${worldTable(worst, rows)}`;
}

function plannerRows(rows: readonly BenchRow[]): readonly BenchRow[] {
  return rows.filter(({ policy }) => policy === PLANNER || policy === PLANNER_WITH_HINTS);
}

function isDrawn(world: string): boolean {
  return world.startsWith('drawn-');
}

/** Shows three digits at most. */
function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}
