import { describe, expect, test } from 'vitest';
import { countedDays } from '../../infra/cli/cost/cost.ts';
import { countDay } from './count-calls.ts';
import { type Figures, measure, type Row } from './measure.ts';
import { delayPlot } from './plot.ts';
import { lowerBoundS } from './world/lower-bound.ts';
import { createWorkload } from './world/workload.ts';
import { MATCHED } from './world/world.ts';

/**
 * Comes from an independent implementation of the same workload and bound (another language, another generator) with
 * seeds 1 to 3, one day and 700 requests a minute. Seeds of two generators have nothing in common, so means are
 * compared.
 */
const REFERENCE_BOUND_S = { 500: (5.349 + 5.3471 + 5.3321) / 3 } as const;

test('the lower bound agrees with an independent implementation within two per cent', () => {
  const bounds = [1, 2, 3].map((seed) =>
    lowerBoundS(createWorkload(MATCHED, 500, seed, { hours: 24 }), 700 / 60),
  );
  const mean = bounds.reduce((sum, bound) => sum + bound, 0) / bounds.length;

  expect(Math.abs(mean / REFERENCE_BOUND_S[500] - 1)).toBeLessThan(0.02);
});

const row = (policy: string, fields: Partial<Row> = {}): Row => ({
  world: 'matched',
  policy,
  projects: 60,
  seed: 1,
  hours: 0.5,
  requestsPerMinute: 300,
  ...fields,
});

describe('the planner', () => {
  const large = { projects: 200, hours: 0.5, requestsPerMinute: 700 };

  test('stays within 1.8 times the lower bound, beats round robin by half, and is never refused', {
    timeout: 600_000,
  }, async () => {
    const alone = await measure(row('planner-1s', large));
    const hinted = await measure(row('planner-hint-1', large));
    const roundRobin = await measure(row('round-robin', large));

    expect(alone.over_bound).toBeLessThan(1.8);
    expect(alone.mean_s).toBeLessThan(roundRobin.mean_s / 2);
    expect(hinted.mean_s).toBeLessThan(alone.mean_s / 2);
    expect([alone.refused, hinted.refused]).toEqual([0, 0]);
    expect(alone.requests_per_second).toBeGreaterThan(0.95 * (700 / 60));
  });

  test('reads every project again within the staleness cap of four rounds', {
    timeout: 600_000,
  }, async () => {
    const { stalest_s } = await measure(
      row('planner-1s', { projects: 250, hours: 1, requestsPerMinute: 350 }),
    );
    const fourRoundsS = (4 * 250 * 60) / 350;

    expect(stalest_s).toBeLessThan(fourRoundsS + 5);
    expect(stalest_s).toBeGreaterThan(fourRoundsS / 4);
  });
});

describe('the whole bridge', () => {
  const usual = measure(row('planner-1s'));

  test('publishes every event once, for at most 2.1 write units a transition, within its share of the rate limit', {
    timeout: 600_000,
  }, async () => {
    const figures = await usual;

    expect(figures.transitions).toBeGreaterThan(30);
    expect(figures).toMatchObject({ complete: 1, duplicates: 0, refused: 0 });
    expect(figures.write_units).toBeLessThanOrEqual(2.1);
    expect(figures.requests_per_second).toBeLessThanOrEqual(300 / 60);
    // The burst is taken from the minute's requests.
    expect(figures.requests_per_second).toBeGreaterThan(0.92 * (300 / 60));
  });

  test.each(['killed-10min', 'faults-1%'])(
    'loses no event and is never refused in the scenario %s',
    { timeout: 600_000 },
    async (policy) => {
      const figures = await measure(row(policy));

      expect(figures).toMatchObject({ complete: 1, refused: 0 });
    },
  );

  test('loses no event and publishes later when its invocations end early, and is alive for less of the time', {
    timeout: 600_000,
  }, async () => {
    const short = await measure(row('linger-0s'));
    const whole = await usual;

    expect(short.complete).toBe(1);
    expect(short.alive).toBeLessThan(0.6);
    expect(whole.alive).toBeGreaterThan(0.9);
    expect(short.mean_s).toBeGreaterThan(2 * whole.mean_s);
  });

  test('publishes within half a second with a clairvoyant planner: the steps after the decision are fast', {
    timeout: 600_000,
  }, async () => {
    const knowing = await measure(row('clairvoyant'));

    expect(knowing.complete).toBe(1);
    expect(knowing.mean_s).toBeLessThan(0.5);
  });
});

test('the counts behind the page of costs agree with a new count within five per cent', {
  timeout: 600_000,
}, async () => {
  const kept = countedDays.find(({ projects }) => projects === 10);
  const now = await countDay(10, { hours: 1 });

  for (const name of ['requests', 'read_units', 'alive_seconds'] as const)
    expect([name, Math.abs(now[name] / (kept?.[name] ?? Number.NaN) - 1) < 0.05]).toEqual([name, true]);
});

test('the plot has a line and a label for each policy and for the bound', () => {
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
