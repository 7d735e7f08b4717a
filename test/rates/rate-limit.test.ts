import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  forgive,
  type RateLimit,
  rateLimitOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  usedUp,
  waitMs,
} from '../../shared/rates/account-rate.ts';
import { NOON_MS } from '../builders.ts';

const MINUTE_MS = 60_000;

test('a window of 60 s never holds more than the budget, also after pauses and quiet times', () => {
  const step = fc.record({
    gapMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 500 }),
      fc.integer({ min: 50_000, max: 200_000 }),
    ),
    pauseMs: fc.option(fc.integer({ min: 1, max: 90_000 }), { freq: 20, nil: undefined }),
  });
  const steps = fc.array(step, { minLength: 50, maxLength: 500 });
  const budgets = fc.integer({ min: 2, max: 120 });
  fc.assert(
    fc.property(steps, budgets, fc.integer({ min: 0, max: 60 }), (arrivals, requestsPerMinute, burst) => {
      const sentAtMs = departures(rateLimitOf(requestsPerMinute, burst), arrivals);
      for (const [index, atMs] of sentAtMs.entries()) {
        const next = sentAtMs[index + requestsPerMinute];
        if (next !== undefined) expect(next - atMs).toBeGreaterThanOrEqual(MINUTE_MS);
      }
    }),
  );
});

test('a saturated queue uses nine tenths of the budget and more, while the burst is a tenth of it at most', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 10, max: 700 }),
      fc.double({ min: 0, max: 0.1, noNaN: true }),
      (rpm, share) => {
        const limit = rateLimitOf(rpm, Math.floor(rpm * share));
        const sentAtMs = departures(
          limit,
          Array.from({ length: 10 * rpm }, () => ({ gapMs: 0 })),
        );
        const minutes = ((sentAtMs.at(-1) ?? 0) - NOON_MS) / MINUTE_MS;

        expect(sentAtMs.length / minutes / rpm).toBeGreaterThanOrEqual(0.9);
      },
    ),
    { numRuns: 30 },
  );
});

test('a wait is whole milliseconds, and after it the request may leave', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 700 }), fc.integer({ min: 1, max: 40 }), (rpm, burst) => {
      const limit = rateLimitOf(rpm, burst);
      let state = UNUSED;
      for (let count = 0; count < 50; count++) state = spend(limit, state, NOON_MS);
      const delayMs = waitMs(limit, state, NOON_MS);

      expect(Number.isInteger(delayMs)).toBe(true);
      expect(waitMs(limit, state, NOON_MS + delayMs)).toBe(0);
    }),
  );
});

test.each([0, 1, -5, Number.NaN])('a budget of %s a minute is a mistake', (requestsPerMinute) => {
  expect(() => rateLimitOf(requestsPerMinute, 20)).toThrow(RangeError);
});

test('processes that end and begin at any moment, knowing nothing of each other, keep the budget together', () => {
  const lives = fc.array(
    fc.record({
      requestCount: fc.integer({ min: 0, max: 60 }),
      idleMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 70_000 })),
    }),
    { minLength: 2, maxLength: 60 },
  );
  const budgets = fc.integer({ min: 2, max: 120 });
  fc.assert(
    fc.property(lives, budgets, fc.integer({ min: 0, max: 60 }), (all, requestsPerMinute, burst) => {
      const limit = rateLimitOf(requestsPerMinute, burst);
      const sentAtMs: number[] = [];
      let nowMs = NOON_MS;
      for (const { requestCount, idleMs } of all) {
        let state = startEmpty(limit, nowMs);
        for (let count = 0; count < requestCount; count++) {
          nowMs += waitMs(limit, state, nowMs);
          state = spend(limit, state, nowMs);
          sentAtMs.push(nowMs);
        }
        nowMs += idleMs;
      }

      for (const [index, atMs] of sentAtMs.entries()) {
        const next = sentAtMs[index + requestsPerMinute];
        if (next !== undefined) expect(next - atMs).toBeGreaterThanOrEqual(MINUTE_MS);
      }
    }),
  );
});

const sixtyAMinute = rateLimitOf(60, 6);

describe('a limit', () => {
  test('of less than two a minute is refused, with what was asked for', () => {
    expect(() => rateLimitOf(1, 1)).toThrow(new RangeError('A rate limit needs at least 2 a minute, not 1'));
    expect(() => rateLimitOf(Number.NaN, 1)).toThrow(RangeError);
    expect(rateLimitOf(2, 1).intervalMs).toBe(MINUTE_MS);
  });

  test('that is used up lets nothing leave for a minute', () => {
    expect(waitMs(sixtyAMinute, usedUp(sixtyAMinute, NOON_MS), NOON_MS)).toBe(MINUTE_MS);
    expect(usedUp(sixtyAMinute, NOON_MS).pausedUntilMs).toBe(0);
  });

  test('of which too much was spent is paid after a minute, and a smaller debt stays', () => {
    const deep = spend(sixtyAMinute, { ...UNUSED, pausedUntilMs: 7 }, NOON_MS, 1_000_000);
    const small = spend(sixtyAMinute, UNUSED, NOON_MS, 3);

    expect(waitMs(sixtyAMinute, forgive(sixtyAMinute, deep, NOON_MS), NOON_MS)).toBe(MINUTE_MS);
    expect(forgive(sixtyAMinute, deep, NOON_MS).pausedUntilMs).toBe(7);
    expect(forgive(sixtyAMinute, small, NOON_MS)).toEqual(small);
  });

  test('gets a request back that did not leave', () => {
    const before = spend(sixtyAMinute, { ...UNUSED, pausedUntilMs: 7 }, NOON_MS, 9);

    expect(unspend(sixtyAMinute, spend(sixtyAMinute, before, NOON_MS))).toEqual(before);
  });

  test('without anything saved up lets one request leave after a step, and no burst', () => {
    const state = startEmpty(sixtyAMinute, NOON_MS);

    expect(waitMs(sixtyAMinute, state, NOON_MS)).toBe(Math.ceil(sixtyAMinute.intervalMs));
    expect(state.pausedUntilMs).toBe(0);
  });
});

interface Arrival {
  readonly gapMs: number;
  readonly pauseMs?: number | undefined;
}

function departures(limit: RateLimit, arrivals: readonly Arrival[]): readonly number[] {
  let state = UNUSED;
  let nowMs = NOON_MS;
  return arrivals.map(({ gapMs, pauseMs }) => {
    nowMs += gapMs;
    if (pauseMs !== undefined)
      state = { ...state, pausedUntilMs: Math.max(state.pausedUntilMs, nowMs + pauseMs) };
    nowMs += waitMs(limit, state, nowMs);
    expect(nowMs).toBeGreaterThanOrEqual(state.pausedUntilMs);
    state = spend(limit, state, nowMs);
    return nowMs;
  });
}
