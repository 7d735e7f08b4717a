import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createExpectedSuspends,
  expectedSuspend,
  NO_COMPUTES,
  nothingKnown,
  staleAtMs,
} from '../../../../functions/poller/planner/activity/expected-suspends.ts';

const NOW_MS = Date.UTC(2026, 0, 15, 12);
const MINUTE_MS = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

const compute = (idleMs: number, suspendAfterMs = 5 * MINUTE_MS) => ({
  id: 'ep-1',
  lastActiveMs: NOW_MS - idleMs,
  suspendAfterMs,
});

const lifetimeOf = (endedMs: number | undefined) => ({
  action: undefined,
  computeId: 'ep-1',
  beganMs: NOW_MS - 60 * MINUTE_MS,
  endedMs,
});
const endOf = (endedMs: number) => [lifetimeOf(endedMs)];

describe('what one row of a list of computes says', () => {
  test('a compute is expected to be suspended when its time-out has passed since its last activity', () => {
    expect(expectedSuspend(compute(2 * MINUTE_MS), NOW_MS)).toMatchObject({
      suspendAtMs: NOW_MS + 3 * MINUTE_MS,
      isUnused: true,
    });
  });

  test('a compute that was active in the last minute counts as used', () => {
    expect(expectedSuspend(compute(MINUTE_MS), NOW_MS).isUnused).toBe(false);
    expect(expectedSuspend(compute(MINUTE_MS + 1), NOW_MS).isUnused).toBe(true);
  });

  test('a compute that still runs two minutes after its instant contradicts the list', () => {
    expect(expectedSuspend(compute(7 * MINUTE_MS), NOW_MS).suspendAtMs).toBe(NOW_MS - 2 * MINUTE_MS);
    expect(expectedSuspend(compute(7 * MINUTE_MS + 1), NOW_MS).suspendAtMs).toBeUndefined();
  });

  test('a row without a last activity says nothing, unless the compute is never suspended', () => {
    const row = { ...compute(0), lastActiveMs: undefined };
    expect(expectedSuspend(row, NOW_MS).suspendAtMs).toBeUndefined();
    expect(expectedSuspend({ ...row, suspendAfterMs: NEVER }, NOW_MS).suspendAtMs).toBe(NEVER);
  });
});

describe('when another reading says something new', () => {
  test('of a used compute, when it can be suspended', () => {
    expect(staleAtMs(expectedSuspend(compute(0), NOW_MS))).toBe(NOW_MS + 5 * MINUTE_MS);
  });

  test('of an unused compute, some time after it should have been suspended', () => {
    expect(staleAtMs(expectedSuspend(compute(2 * MINUTE_MS), NOW_MS))).toBe(NOW_MS + 3.75 * MINUTE_MS);
  });

  test('of a compute that is never suspended, in an hour', () => {
    expect(staleAtMs(expectedSuspend(compute(0, NEVER), NOW_MS))).toBe(NOW_MS + 60 * MINUTE_MS);
  });

  test('after a contradiction, in ten minutes', () => {
    expect(staleAtMs(expectedSuspend(compute(9 * MINUTE_MS), NOW_MS))).toBe(NOW_MS + 10 * MINUTE_MS);
  });

  test('of a compute that the list did not show, in ten minutes', () => {
    expect(nothingKnown(NOW_MS)).toEqual({
      readAtMs: NOW_MS,
      suspendAtMs: undefined,
      isUnused: false,
      learnedToMs: NOW_MS,
    });
    expect(staleAtMs(nothingKnown(NOW_MS))).toBe(NOW_MS + 10 * MINUTE_MS);
  });

  test('whatever the list shows, at least half a minute passes', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e7, noNaN: true }),
        fc.integer({ min: 1, max: 1e6 }),
        (idleMs, afterMs) => {
          expect(staleAtMs(expectedSuspend(compute(idleMs, afterMs), NOW_MS))).toBeGreaterThanOrEqual(
            NOW_MS + 30_000,
          );
        },
      ),
    );
  });
});

describe('how likely a suspend is', () => {
  const hazardAt = (idleMs: number, lateMs: number) => {
    const expected = expectedSuspend(compute(idleMs), NOW_MS);
    return createExpectedSuspends().perMs(expected, (expected.suspendAtMs ?? 0) + lateMs) ?? Number.NaN;
  };

  test('none is expected before the instant, and most right after it where the compute was unused', () => {
    expect(hazardAt(2 * MINUTE_MS, -MINUTE_MS)).toBe(0);
    expect(hazardAt(2 * MINUTE_MS, 7_000)).toBeCloseTo(1 / 15_000, 9);
    expect(hazardAt(2 * MINUTE_MS, 100_000)).toBeCloseTo(1 / 240_000, 9);
  });

  test('a used compute is suspended at any time after its instant', () => {
    expect(hazardAt(0, -1_000)).toBe(0);
    expect(hazardAt(0, 7_000)).toBeCloseTo(1 / 240_000, 9);
  });

  test('no suspend is expected of what is never suspended, and nothing is known of what does not run or after a contradiction', () => {
    const suspends = createExpectedSuspends();
    expect(suspends.perMs(expectedSuspend(compute(0, NEVER), NOW_MS), NOW_MS)).toBe(0);
    expect(suspends.perMs(nothingKnown(NOW_MS), NOW_MS)).toBeUndefined();
    expect(suspends.perMs(expectedSuspend(compute(9 * MINUTE_MS), NOW_MS), NOW_MS)).toBeUndefined();
  });

  test('the next rise is at the instant itself', () => {
    const suspends = createExpectedSuspends();
    expect(suspends.nextRiseMs(expectedSuspend(compute(2 * MINUTE_MS), NOW_MS), NOW_MS)).toBe(
      NOW_MS + 3 * MINUTE_MS,
    );
    const after = NOW_MS + 3 * MINUTE_MS + 1_000;
    expect(suspends.nextRiseMs(expectedSuspend(compute(2 * MINUTE_MS), NOW_MS), after)).toBeUndefined();
    expect(suspends.nextRiseMs(nothingKnown(NOW_MS), NOW_MS)).toBeUndefined();
    expect(suspends.nextRiseMs(expectedSuspend(compute(9 * MINUTE_MS), NOW_MS), NOW_MS)).toBeUndefined();
  });
});

describe('what is learned', () => {
  test('suspends that come later than expected move the expectation', () => {
    const suspends = createExpectedSuspends();
    const expected = expectedSuspend(compute(2 * MINUTE_MS), NOW_MS);
    const lateMs = (expected.suspendAtMs ?? 0) + 47_000;
    for (let count = 0; count < 50; count++)
      suspends.learn(new Map([['ep-1', expected]]), endOf(lateMs), lateMs + 1_000);

    const at = (ms: number) => suspends.perMs(expected, (expected.suspendAtMs ?? 0) + ms) ?? Number.NaN;
    expect(at(50_000)).toBeGreaterThan(10 * at(2_000));
  });

  test('a suspend ends the expectation, and what goes on stays expected', () => {
    const suspends = createExpectedSuspends();
    const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
    const later = suspends.learn(known, [], NOW_MS + 1_000);
    expect(later.get('ep-1')).toMatchObject({ readAtMs: NOW_MS, learnedToMs: NOW_MS + 1_000 });
    expect(suspends.learn(known, endOf(NOW_MS + 5 * MINUTE_MS), NOW_MS + 6 * MINUTE_MS).size).toBe(0);
  });

  test('a suspend more than a minute before the reading belongs to an earlier use', () => {
    const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
    const leftAfter = (endedMs: number) =>
      createExpectedSuspends().learn(known, endOf(endedMs), NOW_MS + 1_000).size;
    expect([60_001, 60_000, 30_000].map((beforeMs) => leftAfter(NOW_MS - beforeMs))).toEqual([1, 0, 0]);
  });

  test('of several suspends the newest counts, also when the compute runs again', () => {
    const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
    const leftAfter = (...endsMs: (number | undefined)[]) =>
      createExpectedSuspends().learn(known, endsMs.map(lifetimeOf), NOW_MS + 6 * MINUTE_MS).size;
    expect(leftAfter(NOW_MS + 5 * MINUTE_MS, NOW_MS - 30 * MINUTE_MS)).toBe(0);
    expect(leftAfter(undefined, NOW_MS + 5 * MINUTE_MS)).toBe(0);
    expect(leftAfter(undefined)).toBe(1);
  });

  test('where nothing is expected, the same nothing stays', () => {
    expect(createExpectedSuspends().learn(NO_COMPUTES, endOf(NOW_MS), NOW_MS)).toBe(NO_COMPUTES);
  });
});

describe('whether lists of computes are believed', () => {
  const contradicted = () => [expectedSuspend(compute(9 * MINUTE_MS), NOW_MS)];

  test('they are not after five contradictions or failures, and are again once suspends come as expected', () => {
    const suspends = createExpectedSuspends();
    for (let count = 0; count < 4; count++) suspends.judge(count % 2 === 0 ? contradicted() : undefined);
    expect(suspends.isTrusted()).toBe(true);
    suspends.judge(contradicted());
    expect(suspends.isTrusted()).toBe(false);
    const known = new Map([['ep-1', expectedSuspend(compute(2 * MINUTE_MS), NOW_MS)]]);
    suspends.learn(known, endOf(NOW_MS + 3.5 * MINUTE_MS), NOW_MS + 4 * MINUTE_MS);
    expect(suspends.isTrusted()).toBe(true);
  });

  test('a list that says what can be true does not count against them, nor does a suspend of what is never suspended', () => {
    const suspends = createExpectedSuspends();
    for (let count = 0; count < 10; count++) suspends.judge([expectedSuspend(compute(0), NOW_MS)]);
    const never = new Map([['ep-1', expectedSuspend(compute(0, NEVER), NOW_MS)]]);
    for (let count = 0; count < 10; count++) suspends.learn(never, endOf(NOW_MS + MINUTE_MS), NOW_MS);
    expect(suspends.isTrusted()).toBe(true);
  });

  test('a suspend proves them right from half a minute before its instant to a minute after it', () => {
    const isProofAt = (lateMs: number) => {
      const suspends = createExpectedSuspends();
      for (let count = 0; count < 5; count++) suspends.judge(contradicted());
      const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
      suspends.learn(known, endOf(NOW_MS + 5 * MINUTE_MS + lateMs), NOW_MS + 60 * MINUTE_MS);
      return suspends.isTrusted();
    };
    expect([-30_001, -30_000, 0, 60_000, 60_001].map(isProofAt)).toEqual([false, true, true, true, false]);
  });

  test('forty instants later all of them count half', () => {
    const isTrustedAfter = (keptCount: number) => {
      const suspends = createExpectedSuspends();
      for (let count = 0; count < 40; count++) suspends.judge(contradicted());
      const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
      for (let count = 0; count < keptCount; count++)
        suspends.learn(known, endOf(NOW_MS + 5 * MINUTE_MS), NOW_MS + 6 * MINUTE_MS);
      return suspends.isTrusted();
    };
    expect([isTrustedAfter(15), isTrustedAfter(16)]).toEqual([false, true]);
  });

  test('a service that was right for long is no longer believed after sixty wrong instants', () => {
    const suspends = createExpectedSuspends();
    const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
    for (let count = 0; count < 1_000; count++)
      suspends.learn(known, endOf(NOW_MS + 5 * MINUTE_MS), NOW_MS + 6 * MINUTE_MS);
    for (let count = 0; count < 60; count++) suspends.judge(contradicted());
    expect(suspends.isTrusted()).toBe(false);
  });

  test('suspends that come more than half a minute too early count against them, and later ones do not', () => {
    const outcome = (endedMs: number) => {
      const suspends = createExpectedSuspends();
      const known = new Map([['ep-1', expectedSuspend(compute(0), NOW_MS)]]);
      for (let count = 0; count < 5; count++) suspends.learn(known, endOf(endedMs), NOW_MS + 60 * MINUTE_MS);
      return suspends.isTrusted();
    };
    expect(outcome(NOW_MS + 4.4 * MINUTE_MS)).toBe(false);
    expect(outcome(NOW_MS + 4.6 * MINUTE_MS)).toBe(true);
    expect(outcome(NOW_MS + 30 * MINUTE_MS)).toBe(true);
  });

  test('a service that was wrong for long is believed again after forty right instants', () => {
    const suspends = createExpectedSuspends();
    for (let count = 0; count < 1_000; count++) suspends.judge(contradicted());
    const known = new Map([['ep-1', expectedSuspend(compute(2 * MINUTE_MS), NOW_MS)]]);
    for (let count = 0; count < 40; count++)
      suspends.learn(known, endOf(NOW_MS + 3 * MINUTE_MS), NOW_MS + 4 * MINUTE_MS);
    expect(suspends.isTrusted()).toBe(true);
  });
});
