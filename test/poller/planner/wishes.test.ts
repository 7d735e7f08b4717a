/**
 * Wishes of callers have weight within a small share: they are fulfilled soon, and hardly delay the readings of other
 * projects.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { MINUTE_MS, runPlanner } from './planner-under-load.ts';

const SEEDS = [1, 2, 3, 4, 5];
const ids = Array.from({ length: 100 }, (_, place) => `p${place}`);
const own = ids.slice(0, 12);
const others = ids.slice(12);

/**
 * Returns the readings of the projects in ten minutes. A caller of twelve projects wishes for six readings a second,
 * unless `hasWishes` is false.
 */
function readings(seed: number, hasWishes: boolean) {
  const random = seededRandom(seed);
  const settings = { projectIds: ids, requestsPerMinute: 600, pollIntervalMsMin: 1_000, seed };
  const run = runPlanner(settings);
  const wish = () => run.plan.wish(own[Math.floor(random.next() * own.length)] ?? '');
  run.pass(10 * MINUTE_MS, hasWishes ? { everyMs: 1_000 / 6, happens: wish } : {});
  const sum = (projects: readonly string[]) => projects.reduce((total, id) => total + run.readCount(id), 0);
  return { others: sum(others), own: sum(own) };
}

describe.each(SEEDS)('with seed %i', (seed) => {
  test('wishes for twelve projects hardly take a reading of the other 88: a wish that is fulfilled replaces a usual turn', () => {
    const before = readings(seed, false);
    const after = readings(seed, true);

    expect(after.others).toBeGreaterThan(0.95 * before.others);
    expect(after.own).toBeGreaterThan(before.own);
  });

  test('a project is read for wishes at most once in a poll interval, even when no other turn needs the permit', () => {
    const intervalMs = 5_000;
    const settings = { projectIds: ['p0'], requestsPerMinute: 600, pollIntervalMsMin: intervalMs, seed };
    const run = runPlanner(settings);
    run.pass(10 * MINUTE_MS, { everyMs: 100, happens: (plan) => plan.wish('p0') });

    expect(run.readCount('p0')).toBeLessThanOrEqual((10 * MINUTE_MS) / intervalMs + 1);
    expect(run.readCount('p0')).toBeGreaterThan((0.95 * 10 * MINUTE_MS) / intervalMs);
  });

  test('a single wish is fulfilled next, before hundreds of turns by weight', () => {
    const run = runPlanner({ projectIds: ids, requestsPerMinute: 350, pollIntervalMsMin: 1_000, seed });
    run.pass(MINUTE_MS);
    const id = ids.find((each) => run.waitedMs(each) > 5_000) ?? '';
    run.plan.wish(id);
    const before = run.readCount(id);
    run.pass(500);

    expect(run.readCount(id)).toBe(before + 1);
  });
});

test('a wish for a project that is being read is fulfilled by a reading that begins afterwards', () => {
  const run = runPlanner({ projectIds: ['p0'], requestsPerMinute: 600, pollIntervalMsMin: 1_000, seed: 1 });
  const { plan } = run;
  expect(plan.next(0)).toEqual({ kind: 'poll', projectId: 'p0' });
  plan.wish('p0');
  plan.report(
    'p0',
    { hasFailed: false, foundTransition: false, hasLeftovers: false, activity: undefined },
    10,
  );

  expect(plan.need(0, 20).hasWork).toBe(true);
  expect(plan.next(1_009)).toEqual({ kind: 'wait', untilMs: 1_010 });
  expect(plan.next(1_010)).toEqual({ kind: 'poll', projectId: 'p0' });
  plan.report(
    'p0',
    { hasFailed: false, foundTransition: false, hasLeftovers: false, activity: undefined },
    1_020,
  );
  expect(plan.need(0, 1_030).hasWork).toBe(false);
});

test('a permit that no other turn needs serves commands and hints beyond their shares', () => {
  const settings = { projectIds: ['p0'], requestsPerMinute: 600, pollIntervalMsMin: 60_000, seed: 1 };
  const run = runPlanner(settings);
  run.pass(MINUTE_MS, { everyMs: 100, happens: (plan) => plan.askAtOnce('p0') });

  expect(run.readCount('p0')).toBeGreaterThan(590);
});
