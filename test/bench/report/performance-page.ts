/**
 * Judges by the goals what a run of the benchmark has measured and recorded, and writes the figures of
 * docs/performance.md. A goal that is missed is called missed, and one without figures, too.
 */

import type { GeneratedFile } from '../../../infra/cli/docs/generated-sections.ts';
import { withSection } from '../../../infra/cli/docs/generated-sections.ts';
import recorded from './recorded.json' with { type: 'json' };

/** All delays are in seconds, from the transition to the event on the bus. */
export interface BenchRow {
  readonly world: string;
  readonly policy: string;
  readonly engine: string;
  readonly projects: number;
  readonly seed: number;
  /** The row has this seed and those that follow it, and every transition of them counts the same. */
  readonly seed_count: number;
  /** The hours that were measured with each seed. */
  readonly hours: number;
  readonly requests_per_minute: number;
  readonly transitions: number;
  /** Counts the transitions that were not published at the end. Each counts with the time that it had waited. */
  readonly waiting: number;
  readonly mean_s: number;
  readonly p50_s: number;
  readonly p95_s: number;
  readonly p99_s: number;
  /** No poller without hints has a smaller mean in this world. */
  readonly bound_s: number;
  /** Neither has one a smaller mean than this, where one price of a request is shared by all kinds of bursts. It is absent where it was not computed. */
  readonly tight_bound_s?: number | undefined;
}

/** `npm run bench -- --record` writes them. */
export interface BenchRecord {
  readonly measured_on: string;
  /** Says what has changed since the run. A new record has no note. */
  readonly note?: string | undefined;
  readonly rows: readonly BenchRow[];
  /** Drawn worlds have their quantities within these ranges. */
  readonly ranges: readonly { readonly quantity: string; readonly min: number; readonly max: number }[];
}

const recordedBench: BenchRecord = recorded;

interface Goal {
  readonly text: string;
  /** It is undefined when the run has not measured it. */
  readonly measured: number | undefined;
  /** The goal is met when what was measured is at most this. */
  readonly max: number;
  readonly unit: 's' | 'times the bound' | 'times the tighter bound' | 'rows';
}

const MATCHED_WORLD = 'matched';

/** The planner of production with its default settings, without a hint and with a list that shows every transition. */
export const PLANNER = 'planner';
export const PLANNER_WITH_HINTS = 'planner-hint-1';

const SIZES = [50, 500, 5_000];

/** How near the planner has to come to the bound with one price for all requests. */
const TIGHT_GOALS = [
  { world: MATCHED_WORLD, projects: 50, max: 1.25 },
  { world: MATCHED_WORLD, projects: 500, max: 1.1 },
  { world: MATCHED_WORLD, projects: 5_000, max: 1.1 },
  { world: 'ten-times-busier', projects: 50, max: 1.25 },
  { world: 'ten-times-busier', projects: 500, max: 1.2 },
  { world: 'ten-times-busier', projects: 5_000, max: 1.2 },
] as const;

export function goalsOf(rows: readonly BenchRow[]): readonly Goal[] {
  const ratios = rows.filter(({ policy }) => policy === PLANNER);
  const worst = (isOf: (row: BenchRow) => boolean) => greatest(ratios.filter(isOf).map(overBound));
  const tightest = (isOf: (row: BenchRow) => boolean) =>
    greatest(ratios.filter((row) => isOf(row) && row.tight_bound_s !== undefined).map(overTightBound));
  const isDrawn = ({ world }: BenchRow) => world.startsWith('drawn-');
  const isMatched = ({ world }: BenchRow) => world === MATCHED_WORLD;
  return [
    ...SIZES.map(
      (projects): Goal => ({
        text: `no hint, ${projects.toLocaleString('en')} projects, the matched world`,
        measured: worst((row) => isMatched(row) && row.projects === projects),
        max: 1.35,
        unit: 'times the bound',
      }),
    ),
    ...SIZES.map(
      (projects): Goal => ({
        text: `no hint, ${projects.toLocaleString('en')} projects, the worst of the other worlds with a name`,
        measured: worst((row) => !isMatched(row) && !isDrawn(row) && row.projects === projects),
        max: 1.45,
        unit: 'times the bound',
      }),
    ),
    ...TIGHT_GOALS.map(
      ({ world, projects, max }): Goal => ({
        text: `no hint, ${projects.toLocaleString('en')} projects, the world ${world}`,
        measured: tightest((row) => row.world === world && row.projects === projects),
        max,
        unit: 'times the tighter bound',
      }),
    ),
    {
      text: 'no hint, the worst of the drawn worlds',
      measured: worst(isDrawn),
      max: 1.45,
      unit: 'times the bound',
    },
    {
      text: 'a list that shows every transition, 500 projects, the matched world',
      measured: meanOf(rows, PLANNER_WITH_HINTS, 500),
      max: 0.6,
      unit: 's',
    },
    {
      text: 'no hint, 50 projects, the matched world',
      measured: meanOf(rows, PLANNER, 50),
      max: 1,
      unit: 's',
    },
    {
      text: 'rows in which a rival is better than the planner',
      measured: rows.length === 0 ? undefined : lostRows(rows).length,
      max: 0,
      unit: 'rows',
    },
  ];
}

export function isMet({ measured, max }: Goal): boolean {
  return measured !== undefined && measured <= max;
}

/** It is undefined as a ratio, NaN, for a row without that bound. */
function overTightBound({ mean_s, tight_bound_s = Number.NaN }: BenchRow): number {
  return mean_s / tight_bound_s;
}

function overBound({ mean_s, bound_s }: BenchRow): number {
  return mean_s / bound_s;
}

/** Returns the planner's rows in which a rival with the same hints has a smaller mean. */
export function lostRows(rows: readonly BenchRow[]): readonly BenchRow[] {
  const own = rows.filter(({ policy }) => policy === PLANNER || policy === PLANNER_WITH_HINTS);
  return own.filter((row) => {
    const best = bestRival(rows, row);
    return best !== undefined && best.mean_s < row.mean_s;
  });
}

/** Returns the best rival in the same world, with the same number of projects and the same hints. */
export function bestRival(rows: readonly BenchRow[], own: BenchRow): BenchRow | undefined {
  const hint = hintOf(own.policy);
  const rivals = rows.filter(
    ({ policy, world, projects }) =>
      !policy.startsWith('planner') &&
      world === own.world &&
      projects === own.projects &&
      hintOf(policy) === hint,
  );
  return rivals.toSorted((a, b) => a.mean_s - b.mean_s)[0];
}

/** The share of the transitions that the list shows stands at the end of a policy's name. */
function hintOf(policy: string): string {
  return /-hint-([\d.]+)$/.exec(policy)?.[1] ?? 'none';
}

function meanOf(rows: readonly BenchRow[], policy: string, projects: number): number | undefined {
  return rows.find((row) => row.world === MATCHED_WORLD && row.policy === policy && row.projects === projects)
    ?.mean_s;
}

function greatest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

const PAGE = 'docs/performance.md';

export function performanceDocs(record: BenchRecord = recordedBench): readonly GeneratedFile[] {
  return [withSection(PAGE, 'benchmark', benchmarkSection(record))];
}

export function benchmarkSection({ measured_on, note, rows }: BenchRecord): string {
  const [first] = rows;
  if (first === undefined) return 'No run of the benchmark is recorded.';
  return `Measured on ${measured_on} with ${first.requests_per_minute} requests a minute.${note === undefined ? '' : ` ${note}`}

### Goals

${goalsTable(goalsOf(rows))}

${lostSentence(lostRows(rows), rows)}

### Mean delay

In seconds; the numbers in brackets are the multiples of the bound and, where it was computed, of the tighter bound.

${meansTable(rows)}

${drawnSentence(rows)}`;
}

function goalsTable(goals: readonly Goal[]): string {
  const lines = goals.map((goal) => {
    const { text, measured, max, unit } = goal;
    const shown = measured === undefined ? 'not measured' : `${shortNumber(measured)} ${unit}`;
    return `| ${text} | ${shown} | ${max} | ${isMet(goal) ? 'met' : '**missed**'} |`;
  });
  return ['| goal | measured | at most | |', '|---|--:|--:|---|', ...lines].join('\n');
}

function meansTable(rows: readonly BenchRow[]): string {
  const named = rows.filter(({ world }) => !isDrawnWorld(world));
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
      return policy === PLANNER ? `${mean} (${multiplesOf(row)})` : mean;
    });
    return `| ${world} | ${cells.join(' | ')} |`;
  });
  return [`| world | ${heads.join(' | ')} |`, `|---|${heads.map(() => '--:|').join('')}`, ...lines].join(
    '\n',
  );
}

function multiplesOf(row: BenchRow): string {
  const tight = row.tight_bound_s === undefined ? [] : [overTightBound(row)];
  return [overBound(row), ...tight].map(shortNumber).join(', ');
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
    .filter(({ policy, world }) => policy === PLANNER && isDrawnWorld(world))
    .map(overBound)
    .toSorted((a, b) => a - b);
  const [median = 0, worst = 0] = [ratios[Math.floor(ratios.length / 2)], ratios.at(-1)];
  return `Of ${ratios.length} worlds that were drawn by their seeds, without hints, the median has ${shortNumber(median)} times the bound, and the worst ${shortNumber(worst)} times.`;
}

function isDrawnWorld(world: string): boolean {
  return world.startsWith('drawn-');
}

/** Shows three digits at most. */
function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}
