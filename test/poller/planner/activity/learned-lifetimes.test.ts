import { describe, expect, test } from 'vitest';
import { createLearnedLifetimes } from '../../../../functions/poller/planner/activity/learned-lifetimes.ts';

const MINUTE_MS = 60_000;
const NOW_MS = 1_000_000_000;
const NOTHING_YET = { learnedAtMs: undefined, shownEndMs: Number.NEGATIVE_INFINITY };

/** A compute that was used for some minutes, up to now. */
const use = (minutes: number) => ({
  action: undefined,
  beganMs: NOW_MS - minutes * MINUTE_MS,
  endedMs: NOW_MS,
});
const running = (minutes: number) => ({ ...use(minutes), endedMs: undefined });
const operation = (action: string, seconds: number) => ({
  action,
  beganMs: NOW_MS - seconds * 1_000,
  endedMs: NOW_MS,
});
const many = <Item>(item: Item) => Array.from({ length: 200 }, () => item);

describe('the suspend of a compute', () => {
  test('is assumed after five minutes, with four minutes of use on average', () => {
    const learned = createLearnedLifetimes();

    expect(learned.suspendPerMs(5 * MINUTE_MS - 1)).toBe(0);
    expect(learned.suspendPerMs(5 * MINUTE_MS) * 4 * MINUTE_MS).toBe(1);
    expect(learned.nextSuspendRiseMs(MINUTE_MS)).toBe(5 * MINUTE_MS);
  });

  test('is expected when the uses of the account usually end', () => {
    const learned = createLearnedLifetimes();
    learned.learn(many(use(33)), NOTHING_YET, NOW_MS);

    expect(learned.suspendPerMs(10 * MINUTE_MS) * 4 * MINUTE_MS).toBeLessThan(0.02);
    expect(learned.suspendPerMs(32 * MINUTE_MS) * 4 * MINUTE_MS).toBeGreaterThan(0.9);
    expect(learned.nextSuspendRiseMs(10 * MINUTE_MS)).toBe(30 * MINUTE_MS);
  });

  test('is expected after one minute where computes are set to be suspended then', () => {
    const learned = createLearnedLifetimes();
    learned.learn(many(use(1.5)), NOTHING_YET, NOW_MS);

    expect(learned.suspendPerMs(1.2 * MINUTE_MS) * 4 * MINUTE_MS).toBeGreaterThan(1);
  });

  test('is not expected of computes that never suspend', () => {
    const learned = createLearnedLifetimes();
    learned.learn(many(running(600)), NOTHING_YET, NOW_MS);

    expect(learned.suspendPerMs(20 * MINUTE_MS) * 4 * MINUTE_MS).toBeLessThan(0.01);
  });

  test('counts each use once, in however many pages it is shown', () => {
    const [once, often] = [createLearnedLifetimes(), createLearnedLifetimes()];
    once.learn([use(8)], NOTHING_YET, NOW_MS);
    for (let minute = 1; minute <= 7; minute++) {
      const nowMs = NOW_MS - (8 - minute) * MINUTE_MS;
      const before = { learnedAtMs: minute === 1 ? undefined : nowMs - MINUTE_MS, shownEndMs: 0 };
      often.learn([running(8)], before, nowMs);
    }
    often.learn([use(8)], { learnedAtMs: NOW_MS - MINUTE_MS, shownEndMs: 0 }, NOW_MS + 1_000);
    often.learn([use(8)], { learnedAtMs: NOW_MS + 1_000, shownEndMs: NOW_MS }, NOW_MS + MINUTE_MS);

    for (let minute = 0; minute < 20; minute++)
      expect(often.suspendPerMs(minute * MINUTE_MS)).toBeCloseTo(once.suspendPerMs(minute * MINUTE_MS), 12);
  });

  test('is expected as before after a page that shows nothing new', () => {
    const learned = createLearnedLifetimes();
    learned.learn(
      Array.from({ length: 2_001 }, () => use(8)),
      NOTHING_YET,
      NOW_MS,
    );
    const before = learned.suspendPerMs(8 * MINUTE_MS);
    learned.learn([use(8)], { learnedAtMs: NOW_MS, shownEndMs: NOW_MS }, NOW_MS + MINUTE_MS);

    expect(learned.suspendPerMs(8 * MINUTE_MS)).toBe(before);
  });

  test('counts an end that a clock ahead of the upstream lets seem to be long past', () => {
    const learned = createLearnedLifetimes();
    const aheadMs = NOW_MS + 10 * MINUTE_MS;
    learned.learn(many(use(8)), { learnedAtMs: aheadMs, shownEndMs: NOW_MS - 1_000 }, aheadMs + 5_000);

    expect(learned.suspendPerMs(8 * MINUTE_MS) * 4 * MINUTE_MS).toBeGreaterThan(10);
  });
});

describe('the end of an operation', () => {
  test('is assumed at a rate of about one over its age', () => {
    const learned = createLearnedLifetimes();

    expect(learned.endPerMs('create_branch', 8_500) * 10_000).toBeCloseTo(1);
    expect(learned.endPerMs(undefined, 0) * 1_500).toBeCloseTo(1);
  });

  test('is expected when operations of its action usually end, whatever others take', () => {
    const learned = createLearnedLifetimes();
    learned.learn(
      [...many(operation('create_timeline', 45)), ...many(operation('start_compute', 1))],
      NOTHING_YET,
      NOW_MS,
    );

    expect(learned.endPerMs('create_timeline', 5_000)).toBeLessThan(1 / 100_000);
    expect(learned.endPerMs('create_timeline', 40_000)).toBeGreaterThan(1 / 20_000);
    expect(learned.endPerMs('start_compute', 1_500)).toBeGreaterThan(1 / 1_000);
  });

  test('is learned of at most 32 actions, and assumed of further ones', () => {
    const learned = createLearnedLifetimes();
    for (let place = 0; place < 40; place++)
      learned.learn(many(operation(`action_${place}`, 45)), NOTHING_YET, NOW_MS);

    expect(learned.endPerMs('action_31', 5_000)).toBeLessThan(1 / 100_000);
    expect(learned.endPerMs('action_32', 5_000) * 6_500).toBeCloseTo(1);
  });
});
