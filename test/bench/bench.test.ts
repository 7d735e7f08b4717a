import { describe, expect, test } from 'vitest';
import { countedDays } from '../../infra/cli/cost/cost.ts';
import { countDay } from './count-calls.ts';
import { lowerBoundS } from './lower-bound.ts';
import { type Figures, measure, type Row } from './measure.ts';
import { delayPlot } from './plot.ts';
import { createWorkload } from './workload.ts';

/**
 * From an independent implementation of the same workload and bound (another language, another generator): seeds 1 to
 * 3, one day, 700 requests a minute. Seeds of two generators share nothing, so means are compared.
 */
const REFERENCE_BOUND_S = { 500: (5.349 + 5.3471 + 5.3321) / 3 } as const;

test('the bound agrees with an independent implementation within two per cent', () => {
  const bounds = [1, 2, 3].map((seed) => lowerBoundS(createWorkload(500, seed, 24), 700 / 60));
  const mean = bounds.reduce((sum, bound) => sum + bound, 0) / bounds.length;

  expect(Math.abs(mean / REFERENCE_BOUND_S[500] - 1)).toBeLessThan(0.02);
});

const row = (policy: string, fields: Partial<Row> = {}): Row => ({
  policy,
  projects: 60,
  seed: 1,
  hours: 0.5,
  requestsPerMinute: 300,
  ...fields,
});

describe('the planner', () => {
  const large = { projects: 200, hours: 0.5, requestsPerMinute: 700 };

  test('is near the bound, far from a timer, and never refused', { timeout: 120_000 }, async () => {
    const alone = await measure(row('planner-1s', large));
    const hinted = await measure(row('planner-hint-1', large));
    const roundRobin = await measure(row('round-robin', large));

    expect(alone.over_bound).toBeLessThan(1.8);
    expect(alone.mean_s).toBeLessThan(roundRobin.mean_s / 2);
    expect(hinted.mean_s).toBeLessThan(alone.mean_s / 2);
    expect([alone.refused, hinted.refused]).toEqual([0, 0]);
    expect(alone.requests_per_second).toBeGreaterThan(0.95 * (700 / 60));
  });

  test('leaves no project unread for longer than the staleness cap', { timeout: 120_000 }, async () => {
    const { stalest_s } = await measure(row('planner-1s', { ...large, projects: 500, hours: 1 }));
    const fourRoundsS = (4 * 500 * 60) / 700;

    expect(stalest_s).toBeLessThan(fourRoundsS + 5);
    expect(stalest_s).toBeGreaterThan(fourRoundsS / 4);
  });
});

describe('the whole bridge', () => {
  const usual = measure(row('planner-1s'));

  test('tells everything once, for two write units a transition, within its part of the limit', {
    timeout: 120_000,
  }, async () => {
    const figures = await usual;

    expect(figures.transitions).toBeGreaterThan(30);
    expect(figures).toMatchObject({ complete: 1, duplicates: 0, refused: 0 });
    expect(figures.write_units).toBeLessThanOrEqual(2.1);
    expect(figures.requests_per_second).toBeLessThanOrEqual(300 / 60);
    // The burst is a part of the minute.
    expect(figures.requests_per_second).toBeGreaterThan(0.92 * (300 / 60));
  });

  test.each(['killed-10min', 'faults-1%'])(
    'loses nothing and is not refused when it is %s',
    { timeout: 120_000 },
    async (policy) => {
      const figures = await measure(row(policy));

      expect(figures).toMatchObject({ complete: 1, refused: 0 });
    },
  );

  test('that ends its invocations early is alive for a part of the time, loses nothing, and tells later', {
    timeout: 120_000,
  }, async () => {
    const short = await measure(row('linger-0s'));
    const whole = await usual;

    expect(short.complete).toBe(1);
    expect(short.alive).toBeLessThan(0.6);
    expect(whole.alive).toBeGreaterThan(0.9);
    expect(short.mean_s).toBeGreaterThan(2 * whole.mean_s);
  });

  test('with a clairvoyant in its place tells almost at once: nothing behind the decision takes long', {
    timeout: 120_000,
  }, async () => {
    const knowing = await measure(row('clairvoyant'));

    expect(knowing.complete).toBe(1);
    expect(knowing.mean_s).toBeLessThan(0.5);
  });
});

test('the page of costs stands on what is counted now', { timeout: 120_000 }, async () => {
  const kept = countedDays.find(({ projects }) => projects === 10);
  const now = await countDay(10, { hours: 1 });

  for (const name of ['requests', 'read_units', 'alive_seconds'] as const)
    expect([name, Math.abs(now[name] / (kept?.[name] ?? Number.NaN) - 1) < 0.05]).toEqual([name, true]);
});

test('the plot has a line and a name for each policy and for the bound', () => {
  const figures = (policy: string, requests_per_minute: number, mean_s: number) =>
    ({ policy, requests_per_minute, mean_s, bound_s: 3_500 / requests_per_minute, projects: 500 }) as Figures;
  const svg = delayPlot([
    figures('a', 70, 60),
    figures('a', 700, 6),
    figures('b', 70, 6),
    figures('b', 700, 0.4),
  ]);

  expect(svg.match(/<polyline/g)).toHaveLength(3);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  for (const name of ['>a<', '>b<', '>bound<']) expect(svg).toContain(name);
});
