import { describe, expect, test } from 'vitest';
import {
  isSameRecordedAbove,
  joinRecordedAbove,
  newestLeftOut,
  RECORDED_ABOVE_MAX,
} from '../../../shared/core/records/recorded-above.ts';
import { secondOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';

const at = (second: number) => `2026-01-15T12:00:${String(second).padStart(2, '0')}.900000000Z` as Timestamp;
const secondsOf = (second: number) => Date.UTC(2026, 0, 15, 12, 0, second) / 1_000;

describe('what is recorded above an unordered list', () => {
  test('is noted in whole seconds since the epoch, newest first, above what is recorded anyway', () => {
    const above = joinRecordedAbove(
      { known: secondsOf(20) },
      [
        { id: 'reached', createdAt: at(10) },
        { id: 'new', createdAt: at(30) },
      ],
      at(10),
    );

    expect(Object.entries(above)).toEqual([
      ['new', secondsOf(30)],
      ['known', secondsOf(20)],
    ]);
  });

  test('leaves out the oldest when it is too much, of which the newest says how far the rest reaches', () => {
    const met = Array.from({ length: RECORDED_ABOVE_MAX }, (_, place) => ({
      id: `op-${place}`,
      createdAt: secondOf((secondsOf(20) + place) * 1_000),
    }));

    expect(newestLeftOut({}, met, at(10))).toBeUndefined();
    expect(newestLeftOut({ known: secondsOf(15) }, met, at(10))).toBe(secondOf(secondsOf(15) * 1_000));
    expect(joinRecordedAbove({ known: secondsOf(15) }, met, at(10))).not.toHaveProperty('known');
  });

  test('is the same only when it names the same operations', () => {
    expect(isSameRecordedAbove({ a: 1, b: 2 }, { a: 1, b: 2 })).toBe(true);
    expect(isSameRecordedAbove({ a: 1, b: 2 }, { a: 1, c: 2 })).toBe(false);
    expect(isSameRecordedAbove({ a: 1 }, { b: 1 })).toBe(false);
    expect(isSameRecordedAbove({ a: 1 }, { a: 1, b: 1 })).toBe(false);
  });
});
