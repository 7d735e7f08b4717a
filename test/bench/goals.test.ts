import { describe, expect, test } from 'vitest';
import { type LargeFigures, largeGoals } from './large/large-figures.ts';
import { parseBenchOptions } from './report/bench-options.ts';
import type { BenchRow } from './report/performance-page.ts';
import { benchmarkSection, bestRival, goalsOf, isMet, lostRows } from './report/performance-page.ts';

const row = (policy: string, mean_s: number, fields: Partial<BenchRow> = {}): BenchRow => ({
  world: 'matched',
  policy,
  engine: 'ideal',
  projects: 500,
  seed: 1,
  seed_count: 1,
  hours: 3,
  requests_per_minute: 700,
  transitions: 1_000,
  waiting: 0,
  mean_s,
  p50_s: mean_s,
  p95_s: mean_s,
  p99_s: mean_s,
  bound_s: 5,
  ...fields,
});

const goalOf = (rows: readonly BenchRow[], part: string) => {
  const found = goalsOf(rows).find(({ text }) => text.includes(part));
  if (found === undefined) throw new Error(`No goal speaks of ${part}`);
  return found;
};

describe('a goal', () => {
  test('is met up to its limit, and missed above it', () => {
    const at = (mean_s: number) => isMet(goalOf([row('planner', mean_s)], '500 projects, the matched world'));

    expect([at(6.75), at(6.76)]).toEqual([true, false]);
  });

  test.each([
    ['matched', 50, 1.25],
    ['matched', 500, 1.1],
    ['matched', 5_000, 1.1],
    ['ten-times-busier', 500, 1.2],
    ['ten-times-busier', 5_000, 1.2],
  ])('in the world %s with %i projects is %f times the tighter bound', (world, projects, max) => {
    const goal = (mean_s: number) => {
      const rows = [row('planner', mean_s, { world, projects, bound_s: 80, tight_bound_s: 100 })];
      return goalOf(rows, `${projects.toLocaleString('en')} projects, the world ${world}`);
    };

    expect([isMet(goal(100 * max)), isMet(goal(100 * max + 0.1))]).toEqual([true, false]);
    expect(goalOf([row('planner', 1, { world, projects })], `the world ${world}`).measured).toBeUndefined();
  });

  test('that nothing was measured for is not met', () => {
    expect(goalsOf([]).map(isMet)).not.toContain(true);
  });

  test('for the worlds that differ takes the worst of them, and for drawn worlds the worst of those', () => {
    const rows = [
      row('planner', 6),
      row('planner', 7, { world: '30-minutes' }),
      row('planner', 9, { world: 'deployments' }),
      row('planner', 8, { world: 'drawn-1' }),
      row('planner', 20, { world: 'drawn-2' }),
    ];

    expect(goalOf(rows, '500 projects, the worst of the other worlds').measured).toBe(9 / 5);
    expect(goalOf(rows, 'drawn').measured).toBe(4);
  });
});

describe('a rival', () => {
  test('is compared only with the planner that has the same hints, in the same world and size', () => {
    const rows = [
      row('planner', 6),
      row('planner-hint-1', 0.3),
      row('round-robin', 20),
      row('list-always-hint-1', 0.2),
      row('list-1s-hint-0.7', 0.1),
      row('round-robin', 1, { world: 'deployments' }),
      row('round-robin', 1, { projects: 50 }),
    ];

    expect(bestRival(rows, row('planner', 6))?.mean_s).toBe(20);
    expect(lostRows(rows).map(({ policy }) => policy)).toEqual(['planner-hint-1']);
    expect(goalOf(rows, 'a rival is better').measured).toBe(1);
  });
});

test('the page calls a missed goal missed, and names a rival that is better', () => {
  const rows = [row('planner', 60), row('round-robin', 20)];

  const page = benchmarkSection({ measured_on: '2026-11-22', rows, ranges: [] });

  expect(page).toContain('| 12 times the bound | 1.35 | **missed** |');
  expect(page).toContain(
    'A rival is better than the planner in 1 of 1 rows: matched with 500 projects (round-robin, 20 s).',
  );
});

test('a large account is known again only when all of its projects are, however soon the first ones were', () => {
  const figures: LargeFigures = {
    projects: 200_000,
    requests_per_minute: 20_000,
    known: 200_000,
    cold_start_virtual_s: 40,
    cold_start_processor_s: 20,
    first_decision_us: 21,
    decisions: 200_000,
    decision_us: 10,
    memory_mib: 1_024,
  };
  const met = (fields: Partial<LargeFigures>) =>
    largeGoals({ ...figures, ...fields }).map(({ isMet: is }) => is);

  expect(met({})).toEqual([true, true, true]);
  expect(met({ known: 199_999 })).toEqual([true, true, false]);
  expect(met({ cold_start_processor_s: 20.1, decision_us: 10.1, memory_mib: 1_025 })).toEqual([
    false,
    false,
    false,
  ]);
});

describe('the options of npm run bench', () => {
  test('ask for one row of one world, one size and one seed', () => {
    const options = parseBenchOptions([
      '--world',
      '30-minutes',
      '--projects',
      '500',
      '--seed',
      '7',
      '--policy',
      'planner',
    ]);

    expect(options).toMatchObject({ isStandard: false });
    expect(options?.rows).toMatchObject([
      { world: '30-minutes', projects: 500, seed: 7, policy: 'planner', requestsPerMinute: 700 },
    ]);
  });

  test('ask for one large account, with which only a rate can be asked for', () => {
    const { large } = parseBenchOptions(['--projects', '200000', '--rpm', '20000']) ?? {};

    expect(large).toEqual({ projects: 200_000, requestsPerMinute: 20_000 });
    expect(() => parseBenchOptions(['--projects', '200000', '--seed', '2'])).toThrow(/only --rpm/);
    expect(() => parseBenchOptions(['--projects', '200001'])).toThrow(/from 1 to 200000/);
  });

  test('are refused together with --record, which takes only a whole run', () => {
    expect(() => parseBenchOptions(['--record', '--seed', '2'])).toThrow(/--record takes no option/);
  });

  test('that are left out mean a run of every world, and of twenty that are drawn', () => {
    const { rows, isStandard } = parseBenchOptions([]) ?? { rows: [] };
    const worlds = new Set(rows.map(({ world }) => world));

    expect(isStandard).toBe(true);
    expect([...worlds].filter((world) => world.startsWith('drawn-'))).toHaveLength(20);
    expect(worlds).toContain('no-suspends');
  });
});
