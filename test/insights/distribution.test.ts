import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addValues, BIN_MAX, quantilesOf, VALUE_MAX } from '../../shared/insights/day-insights.ts';

/** Returns the value below which at least that share of the others lie. */
function exactQuantile(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(quantile * (sorted.length - 1))] ?? Number.NaN;
}

const someValues = fc.array(fc.integer({ min: 1, max: VALUE_MAX }), { minLength: 1, maxLength: 200 });

describe('a distribution', () => {
  test('gives each quantile within 2 percent of the true one', () => {
    fc.assert(
      fc.property(someValues, (values) => {
        const found = quantilesOf([addValues({}, values)]);

        expect(found.count).toBe(values.length);
        for (const [name, quantile] of [
          ['p50', 0.5],
          ['p95', 0.95],
          ['p99', 0.99],
        ] as const) {
          const exact = exactQuantile(values, quantile);
          expect(Math.abs(found[name] - exact)).toBeLessThanOrEqual(exact * 0.02 + 0.5);
        }
      }),
    );
  });

  test('says the same of values that were counted together and of values that were counted apart', () => {
    fc.assert(
      fc.property(someValues, someValues, (some, others) => {
        const together = quantilesOf([addValues(addValues({}, some), others)]);

        const apart = quantilesOf([addValues({}, some), addValues({}, others)]);

        expect(apart).toEqual(together);
      }),
    );
  });

  test('gives small whole numbers exactly, as numbers of attempts are', () => {
    for (let attempts = 1; attempts <= 20; attempts++)
      expect(quantilesOf([addValues({}, [attempts])])).toMatchObject({ p50: attempts, p99: attempts });
  });

  test('keeps every value in one of its bins, however small or large the value is', () => {
    const bins = addValues({}, [0, 0.2, VALUE_MAX * 10, Number.POSITIVE_INFINITY]);

    expect(bins).toEqual({ 0: 2, [BIN_MAX]: 2 });
    expect(BIN_MAX).toBeLessThan(543);
  });
});
