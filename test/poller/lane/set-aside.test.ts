import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isSetAside,
  SET_ASIDE_MS_MAX,
  type SetAside,
  setAsideAfter,
} from '../../../functions/poller/lane/run-lane.ts';

const NOW_MS = Date.UTC(2026, 0, 15, 12);

function afterFailures(count: number): SetAside {
  let before: SetAside | undefined;
  for (let failure = 1; failure < count; failure++) before = setAsideAfter(before, NOW_MS);
  return setAsideAfter(before, NOW_MS);
}

describe('an account whose poller throws', () => {
  test('is set aside for a minute, then two, four and eight, and a quarter of an hour at most', () => {
    const minutes = [1, 2, 3, 4, 5, 6].map((count) => (afterFailures(count).untilMs - NOW_MS) / 60_000);

    expect(minutes).toEqual([1, 2, 4, 8, 15, 15]);
  });

  test('is polled again at the end of any pause, however often it has failed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), (count) => {
        const account = afterFailures(count);

        expect(isSetAside(account, NOW_MS)).toBe(true);
        expect(isSetAside(account, NOW_MS + SET_ASIDE_MS_MAX)).toBe(false);
      }),
      { numRuns: 30 },
    );
  });

  test('is not kept waiting by a time that a wrong clock has written', () => {
    const untilMs = NOW_MS + SET_ASIDE_MS_MAX + 1;

    expect(isSetAside({ failureCount: 1, untilMs }, NOW_MS)).toBe(false);
  });
});
