import { describe, expect, test } from 'vitest';
import { createArrivalRates } from '../../../../functions/poller/planner/activity/arrival-rates.ts';

const DAY_MS = 86_400_000;
const perDay = (rates: ReturnType<typeof createArrivalRates>) => rates.perMsMean() * DAY_MS;

describe('the mean rate of arrivals', () => {
  test('is the assumed one before anything is known', () => {
    expect(perDay(createArrivalRates())).toBeCloseTo(8);
  });

  test('is that of all histories together, with one day of one project as prior belief', () => {
    const rates = createArrivalRates();
    rates.replace(undefined, { arrivalCount: 20, observedMs: DAY_MS });
    rates.replace(undefined, { arrivalCount: 2, observedMs: DAY_MS });

    expect(perDay(rates)).toBeCloseTo(30 / 3);
  });

  test('is the mean of the projects, however long each of them is known', () => {
    const rates = createArrivalRates();
    rates.replace(undefined, { arrivalCount: 40, observedMs: DAY_MS });
    rates.replace(undefined, { arrivalCount: 7, observedMs: 7 * DAY_MS });

    expect(perDay(rates)).toBeCloseTo((40 + 1 + 8) / 3);
  });

  test('forgets a history that is replaced or taken away', () => {
    const rates = createArrivalRates();
    const first = { arrivalCount: 20, observedMs: DAY_MS };
    const second = { arrivalCount: 80, observedMs: 2 * DAY_MS };
    rates.replace(undefined, first);
    rates.replace(first, second);
    expect(perDay(rates)).toBeCloseTo(48 / 2);
    rates.replace(second, undefined);

    expect(perDay(rates)).toBeCloseTo(8);
  });
});
