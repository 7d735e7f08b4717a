import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type RateLimit,
  rateLimitOf,
  shareOf,
  spend,
  startEmpty,
  UNUSED,
  waitMs,
} from '../../shared/core/rate-limit.ts';
import { afterRefusal, FULL_SHARE, shareAt } from '../../shared/core/rate-share.ts';
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

describe('beside an unannounced second user', () => {
  test.each([0.1, 0.3, 0.6])(
    'of %s of the limit, refusals become rare, the rest is used, and the other one is hardly refused',
    (otherShare) => {
      const { own, other } = shareOneLimit({ otherShare, hours: 4 });
      const firstHour = own.filter(({ hour }) => hour === 0);
      const later = own.filter(({ hour }) => hour > 0);
      const refused = (requests: readonly { readonly isRefused: boolean }[]) =>
        requests.filter(({ isRefused }) => isRefused).length;

      expect(refused(firstHour)).toBeLessThan(30);
      expect(refused(later) / 3).toBeLessThanOrEqual(4);
      expect((later.length - refused(later)) / (3 * 60)).toBeGreaterThan(0.9 * 700 * (1 - otherShare));
      expect(refused(other) / other.length).toBeLessThan(0.01);
    },
  );

  test('that goes away, the whole limit is in use again within forty minutes and the way up', () => {
    const { share, endMs } = shareOneLimit({ otherShare: 0.3, hours: 4 });

    expect(shareAt(share, endMs + 60 * MINUTE_MS)).toBe(1);
  });
});

test('a single refusal costs a fifth at once and nothing any more ten minutes later', () => {
  const once = afterRefusal(FULL_SHARE, NOON_MS);

  expect(shareAt(once, NOON_MS)).toBe(0.8);
  expect(shareAt(once, NOON_MS + 2 * MINUTE_MS)).toBe(0.95);
  expect(shareAt(once, NOON_MS + 10 * MINUTE_MS)).toBe(1);
});

test('refusals at one moment count once', () => {
  const once = afterRefusal(FULL_SHARE, NOON_MS);

  expect(afterRefusal(once, NOON_MS + 100)).toEqual(once);
});

test('whatever is refused, something still gets through', () => {
  let share = FULL_SHARE;
  for (let count = 0; count < 100; count++) share = afterRefusal(share, NOON_MS + count * 6_000);

  expect(shareAt(share, NOON_MS + 600_000)).toBeGreaterThanOrEqual(0.1);
});

/** A sliding window of 700 a minute that both send into; the other one sends evenly and takes no notice. */
function shareOneLimit({ otherShare, hours }: { readonly otherShare: number; readonly hours: number }) {
  const limit = rateLimitOf(700, 20);
  const endMs = hours * 60 * MINUTE_MS;
  const accepted: number[] = [];
  let oldest = 0;
  const arrive = (atMs: number) => {
    while ((accepted[oldest] ?? Number.POSITIVE_INFINITY) <= atMs - MINUTE_MS) oldest += 1;
    const isRefused = accepted.length - oldest >= 700;
    if (!isRefused) accepted.push(atMs);
    return { hour: Math.floor(atMs / (60 * MINUTE_MS)), isRefused };
  };
  const own: ReturnType<typeof arrive>[] = [];
  const other: ReturnType<typeof arrive>[] = [];
  let share = FULL_SHARE;
  let state = UNUSED;
  let otherAtMs = 0;
  for (let nowMs = 0; nowMs < endMs; ) {
    nowMs += waitMs(shareOf(limit, shareAt(share, nowMs)), state, nowMs);
    for (; otherAtMs <= nowMs; otherAtMs += MINUTE_MS / (700 * otherShare)) other.push(arrive(otherAtMs));
    state = spend(shareOf(limit, shareAt(share, nowMs)), state, nowMs);
    const request = arrive(nowMs);
    own.push(request);
    if (!request.isRefused) continue;
    share = afterRefusal(share, nowMs);
    state = { ...state, pausedUntilMs: nowMs + 1_000 };
  }
  return { own, other, share, endMs };
}

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
