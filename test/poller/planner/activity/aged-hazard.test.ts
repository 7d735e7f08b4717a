import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAgedHazard } from '../../../../functions/poller/planner/activity/aged-hazard.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';

/** Nothing is assumed to end before 10 ms, and everything with a mean of 100 ms beyond. */
const setUp = () =>
  createAgedHazard({
    edgesMs: [0, 10, 20, 40, 80, 160, 320, 640],
    perMs: (ageMs) => (ageMs < 10 ? 0 : 0.01),
    priorMs: 100,
  });

const exponential = (meanMs: number, unit: number) => -meanMs * Math.log(1 - unit);

describe('what is expected at an age', () => {
  test('is the assumption before anything was seen', () => {
    const hazard = setUp();

    expect([0, 9.9, 10, 50, 10_000].map((ageMs) => hazard.perMs(ageMs))).toEqual([0, 0, 0.01, 0.01, 0.01]);
  });

  test.each([1_000, 300, 30])('becomes that of lives of %d ms on average', (meanMs) => {
    const hazard = setUp();
    const random = seededRandom(1);
    for (let life = 0; life < 4_000; life++) hazard.note(0, exponential(meanMs, random.next()), true);

    expect(hazard.perMs(15) * meanMs).toBeGreaterThan(0.8);
    expect(hazard.perMs(15) * meanMs).toBeLessThan(1.25);
  });

  test('is learned apart for each span of ages', () => {
    const hazard = setUp();
    for (let life = 0; life < 200; life++) hazard.note(0, 50, true);

    expect(hazard.perMs(30)).toBeLessThan(0.001);
    expect(hazard.perMs(50)).toBeGreaterThan(0.05);
    expect(hazard.perMs(5)).toBe(0);
  });

  test('is learned where no end was assumed, too', () => {
    const hazard = setUp();
    for (let life = 0; life < 50; life++) hazard.note(0, 8, true);

    expect(hazard.perMs(5)).toBeCloseTo(50 / (50 * 8 + 100));
    expect(hazard.perMs(50)).toBe(0.01);
  });

  test('falls while something is watched that does not end', () => {
    const hazard = setUp();
    const seen = [];
    for (let fromMs = 0; fromMs < 100_000; fromMs += 10_000) {
      hazard.note(fromMs, fromMs + 10_000, false);
      seen.push(hazard.perMs(5_000));
    }

    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    expect(seen.at(-1)).toBeLessThan(1e-6);
  });

  test('hardly changes by a single outlier', () => {
    const hazard = setUp();
    for (let life = 0; life < 100; life++) hazard.note(0, 60, true);
    const before = hazard.perMs(60);
    hazard.note(0, 1e9, true);

    expect(hazard.perMs(60)).toBeGreaterThan(0.9 * before);
  });

  test('follows an account that has changed', () => {
    const hazard = setUp();
    const random = seededRandom(2);
    const live = (meanMs: number, count: number) => {
      for (let life = 0; life < count; life++) {
        hazard.note(0, exponential(meanMs, random.next()), true);
        hazard.perMs(0);
      }
    };
    live(30, 20_000);
    live(3_000, 6_000);

    expect(hazard.perMs(15)).toBeLessThan(1 / 1_000);
  });

  test('is finite and not negative, whatever the clocks say', () => {
    const ages = fc.double({ min: -1e12, max: 1e15, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(ages, ages, fc.boolean())), ages, (lives, ageMs) => {
        const hazard = setUp();
        for (const [fromMs, toMs, hasEnded] of lives) hazard.note(fromMs, toMs, hasEnded);

        expect(hazard.perMs(ageMs)).toBeGreaterThanOrEqual(0);
        expect(hazard.perMs(ageMs)).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the next age at which much more is expected', () => {
  test('is where ends begin, and then there is none', () => {
    const hazard = setUp();

    expect(hazard.nextRiseMs(0)).toBe(10);
    expect(hazard.nextRiseMs(10)).toBeUndefined();
    expect(hazard.nextRiseMs(1_000)).toBeUndefined();
  });

  test('moves with what was learned', () => {
    const hazard = setUp();
    for (let life = 0; life < 200; life++) hazard.note(0, 50, true);

    expect(hazard.nextRiseMs(15)).toBe(40);
  });
});
