import { expect, test } from 'vitest';
import { lowerBoundS } from './lower-bound.ts';
import { contenders, measure } from './run.ts';
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

test('the planner is near the bound, far from a timer, and never refused', { timeout: 60_000 }, () => {
  const workload = createWorkload(200, 1, 2);
  const run = (name: string) => {
    const contender = contenders.find((each) => each.name === name);
    if (contender === undefined) throw new Error(`No policy is called ${name}`);
    return measure(contender, workload, { requestsPerMinute: 700, seed: 1 });
  };
  const planner = run('planner-1s');
  const hinted = run('planner-hint-1');

  expect(planner.over_bound).toBeLessThan(1.8);
  expect(planner.mean_s).toBeLessThan(run('round-robin').mean_s / 2);
  expect(hinted.mean_s).toBeLessThan(planner.mean_s / 2);
  expect([planner.refused, hinted.refused]).toEqual([0, 0]);
  expect(planner.requests_per_second).toBeGreaterThan(0.95 * (700 / 60));
});
