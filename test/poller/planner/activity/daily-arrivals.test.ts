import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDailyArrivals } from '../../../../functions/poller/planner/activity/daily-arrivals.ts';
import { NOON_MS } from '../../../builders.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Takes operations that were created at these ages, and says what the page shows that ends with them or goes on. */
function historyOf(agesMs: readonly number[], { isWhole }: { isWhole: boolean }) {
  const arrivals = createDailyArrivals(NOON_MS);
  agesMs.every((ageMs) => arrivals.take(NOON_MS - ageMs, true));
  return arrivals.history(isWhole);
}

function every(ms: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => (place + 0.5) * ms);
}

describe('the operations of a project', () => {
  test('count for the last day when these are enough, and for further days otherwise', () => {
    const [hourly, everyThird, daily] = [HOUR_MS, 3 * HOUR_MS, DAY_MS].map((ms) =>
      historyOf(every(ms, 100), { isWhole: false }),
    );

    expect(hourly).toMatchObject({ arrivalCount: 24, observedMs: DAY_MS });
    expect(everyThird).toMatchObject({ arrivalCount: 16, observedMs: 2 * DAY_MS });
    expect(daily).toMatchObject({ arrivalCount: 7, observedMs: 7 * DAY_MS });
  });

  test('count for whole days as soon as the page shows one, whatever it shows', () => {
    const ages = fc.array(fc.integer({ min: 60_000, max: 10 * DAY_MS }), { maxLength: 60 });
    fc.assert(
      fc.property(ages, fc.boolean(), (unsorted, isWhole) => {
        const sorted = unsorted.toSorted((a, b) => a - b);
        const { arrivalCount, observedMs } = historyOf(sorted, { isWhole });
        const days = observedMs / DAY_MS;

        expect(arrivalCount).toBe(sorted.filter((ageMs) => ageMs <= observedMs).length);
        expect(days < 1 || (Number.isInteger(days) && days <= 7)).toBe(true);
        // A further day is counted only when the days before have shown too few.
        if (days > 1) expect(sorted.filter((ageMs) => ageMs <= observedMs - DAY_MS).length).toBeLessThan(16);
      }),
    );
  });

  test('have the same rate for any even pace, however far the page reaches back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), (everyMinutes) => {
        const paceMs = everyMinutes * 60_000;
        const { arrivalCount, observedMs } = historyOf(every(paceMs, 100), { isWhole: false });

        expect(Math.abs(observedMs / paceMs - arrivalCount)).toBeLessThan(0.501);
      }),
    );
  });

  test('say as much about a project whatever the hour is, when all of them come in the same hours of a day', () => {
    const ratesPerDay = Array.from({ length: 24 }, (_, hour) => {
      const agesMs = Array.from({ length: 40 }, (_operation, place) => {
        const [day, ofDay] = [Math.floor(place / 4), place % 4];
        return day * DAY_MS + hour * HOUR_MS + (ofDay + 1) * 600_000;
      });
      const { arrivalCount, observedMs } = historyOf(agesMs, { isWhole: false });
      return (arrivalCount * DAY_MS) / observedMs;
    });

    expect(Math.max(...ratesPerDay)).toBe(4);
    expect(Math.min(...ratesPerDay)).toBe(4);
  });

  test('are taken from no more rows than can change the result', () => {
    const arrivals = createDailyArrivals(NOON_MS);
    const ages = every(HOUR_MS, 100);

    expect(ages.findIndex((ageMs) => !arrivals.take(NOON_MS - ageMs, true))).toBe(24);
    expect(historyOf(ages.slice(0, 25), { isWhole: false })).toMatchObject({ arrivalCount: 24 });
  });

  test('count for one day when it has shown enough of them, also when the list ends there', () => {
    for (const count of [16, 20])
      expect(historyOf(every(HOUR_MS, count), { isWhole: true })).toMatchObject({
        arrivalCount: count,
        observedMs: DAY_MS,
      });
    expect(historyOf(every(HOUR_MS, 15), { isWhole: true })).toMatchObject({
      arrivalCount: 15,
      observedMs: 7 * DAY_MS,
    });
  });

  test('are taken of a further day only while those before it have shown fewer than sixteen, and of at most seven days', () => {
    const takesAfter = (count: number, ageMs: number) => {
      const arrivals = createDailyArrivals(NOON_MS);
      for (const each of every(HOUR_MS, count)) arrivals.take(NOON_MS - each, true);
      return arrivals.take(NOON_MS - ageMs, true);
    };

    expect([takesAfter(15, 30 * HOUR_MS), takesAfter(16, 30 * HOUR_MS)]).toEqual([true, false]);
    expect([takesAfter(1, 7 * DAY_MS), takesAfter(1, 7 * DAY_MS + 1)]).toEqual([true, false]);
  });

  test('reach back exactly to the oldest of them on a page that shows less than a day', () => {
    for (let minutes = 1; minutes < 1_440; minutes++)
      expect(historyOf([minutes * 60_000 + 7], { isWhole: false })).toEqual({
        arrivalCount: 1,
        observedMs: minutes * 60_000 + 7,
        oldestMs: NOON_MS - minutes * 60_000 - 7,
      });
  });

  test('do not count when they are suspends, which say only how far the page reaches back', () => {
    const arrivals = createDailyArrivals(NOON_MS);
    arrivals.take(NOON_MS - HOUR_MS, false);
    arrivals.take(NOON_MS - 2 * HOUR_MS, false);

    expect(arrivals.history(false)).toMatchObject({ arrivalCount: 0, observedMs: 2 * HOUR_MS });
  });
});
