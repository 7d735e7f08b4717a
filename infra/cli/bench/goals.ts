/** Judges the figures of a run by the goals. A goal that is missed is called missed, and one without figures, too. */

import type { BenchRow } from './bench-row.ts';

export interface Goal {
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
export function overTightBound({ mean_s, tight_bound_s = Number.NaN }: BenchRow): number {
  return mean_s / tight_bound_s;
}

export function overBound({ mean_s, bound_s }: BenchRow): number {
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
