import { describe, expect, test } from 'vitest';
import {
  createExpectedSuspends,
  NO_COMPUTES,
} from '../../../../functions/poller/planner/activity/expected-suspends.ts';
import {
  ARRIVALS_PER_MS_ASSUMED,
  coldIntensity,
  hotIntensity,
  nextRiseMs,
} from '../../../../functions/poller/planner/activity/expected-transitions.ts';
import { createLearnedLifetimes } from '../../../../functions/poller/planner/activity/learned-lifetimes.ts';
import type { ProjectActivity } from '../../../../functions/poller/planner/activity/project-activity.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = 100 * DAY_MS;

const activity = (fields: Partial<ProjectActivity>): ProjectActivity => ({
  openSinceMs: undefined,
  activeSinceMs: [],
  arrivalCount: 0,
  observedMs: DAY_MS,
  ...fields,
});

test('eight operations a day are assumed before any was seen', () => {
  expect(ARRIVALS_PER_MS_ASSUMED * DAY_MS).toBe(8);
});

describe('what is expected of a project in which nothing is open', () => {
  const perDay = (history: Parameters<typeof coldIntensity>[0], meanPerDay: number) =>
    coldIntensity(history, meanPerDay / DAY_MS) * DAY_MS;

  test('is the mean of the account while its own history is unknown: 3.75 transitions for each arrival', () => {
    expect(perDay(undefined, 8)).toBeCloseTo(30);
    expect(perDay({ arrivalCount: 0, observedMs: 0 }, 8)).toBeCloseTo(30);
  });

  test('is its own rate, with half an arrival of prior belief at the mean of the account', () => {
    expect(perDay({ arrivalCount: 20, observedMs: DAY_MS }, 8)).toBeCloseTo((3.75 * 20.5) / (1 + 0.5 / 8));
  });

  test('is never nothing', () => {
    expect(perDay({ arrivalCount: 0, observedMs: 1_000_000 * DAY_MS }, 8)).toBeCloseTo(0.03);
  });
});

const assumed = createLearnedLifetimes();
const nothingShown = { computes: NO_COMPUTES, suspends: createExpectedSuspends() };

describe('what is expected in addition', () => {
  const intensity = (shown: ProjectActivity | undefined) =>
    hotIntensity(shown, assumed, NOW_MS, nothingShown);

  test('is nothing where nothing is known, open or running', () => {
    expect(intensity(undefined)).toBe(0);
    expect(intensity(activity({}))).toBe(0);
  });

  test('of an open operation falls with its age', () => {
    const open = (ageMs: number) => intensity(activity({ openSinceMs: NOW_MS - ageMs }));

    expect(open(0)).toBeCloseTo(1 / 1_500);
    expect(open(8_500)).toBeCloseTo(1 / 10_000);
  });

  test('of an operation that begins in the future, by our clock, is that of a new one', () => {
    expect(intensity(activity({ openSinceMs: NOW_MS + HOUR_MS }))).toBeCloseTo(1 / 1_500);
  });

  test('of a running compute begins five minutes after its start', () => {
    const running = (ageMs: number) => intensity(activity({ activeSinceMs: [NOW_MS - ageMs] }));
    const suspending = 3 / (4 * MINUTE_MS);

    expect(running(5 * MINUTE_MS - 1)).toBe(0);
    expect(running(5 * MINUTE_MS)).toBe(suspending);
  });

  test('follows what was learned of the account: of computes that are never suspended, less and less is expected', () => {
    const learned = createLearnedLifetimes();
    const running = activity({ activeSinceMs: [NOW_MS - 10 * HOUR_MS] });
    const shown = [{ action: undefined, beganMs: NOW_MS - 20 * HOUR_MS, endedMs: undefined }];
    learned.learn(shown, { learnedAtMs: undefined, shownEndMs: 0 }, NOW_MS);

    expect(hotIntensity(running, learned, NOW_MS, nothingShown)).toBeLessThan(
      hotIntensity(running, assumed, NOW_MS, nothingShown) / 100,
    );
  });

  test('of two computes and an operation is the sum', () => {
    const ago = NOW_MS - 10 * MINUTE_MS;
    const all = activity({ activeSinceMs: [ago, ago, NOW_MS], openSinceMs: NOW_MS - 8_500 });

    expect(intensity(all)).toBeCloseTo(6 / (4 * MINUTE_MS) + 1 / 10_000, 8);
  });
});

describe('the next time at which more is expected', () => {
  test('is when the first running compute can be suspended', () => {
    const starts = [NOW_MS - MINUTE_MS, NOW_MS - 3 * MINUTE_MS, NOW_MS - 10 * MINUTE_MS];

    expect(nextRiseMs(activity({ activeSinceMs: starts }), assumed, NOW_MS, nothingShown)).toBe(
      NOW_MS + 2 * MINUTE_MS,
    );
  });

  test('does not exist when none runs, or all can be suspended already', () => {
    expect(nextRiseMs(undefined, assumed, NOW_MS, nothingShown)).toBeUndefined();
    expect(nextRiseMs(activity({}), assumed, NOW_MS, nothingShown)).toBeUndefined();
    expect(
      nextRiseMs(activity({ activeSinceMs: [NOW_MS - 5 * MINUTE_MS] }), assumed, NOW_MS, nothingShown),
    ).toBeUndefined();
  });
});

describe('what a list of computes has shown', () => {
  const running = activity({ activeSinceMs: [NOW_MS - 10 * MINUTE_MS], activeIds: ['ep-1'] });
  const suspends = createExpectedSuspends();
  const knowing = (suspendAtMs: number | undefined) => ({
    computes: new Map([['ep-1', { readAtMs: NOW_MS, suspendAtMs, isUnused: true, learnedToMs: NOW_MS }]]),
    suspends,
  });

  test('replaces what is assumed of a running compute', () => {
    const intensity = (suspendAtMs: number | undefined) =>
      hotIntensity(running, assumed, NOW_MS, knowing(suspendAtMs));
    expect(intensity(NOW_MS + MINUTE_MS)).toBe(0);
    expect(intensity(NOW_MS - 1_000)).toBeCloseTo(3 / 15_000, 9);
    expect(intensity(undefined)).toBe(hotIntensity(running, assumed, NOW_MS, nothingShown));
  });

  test('names the next rise', () => {
    const young = { ...running, activeSinceMs: [NOW_MS - MINUTE_MS] };
    const rise = (suspendAtMs: number | undefined) =>
      nextRiseMs(young, assumed, NOW_MS, knowing(suspendAtMs));
    expect(rise(NOW_MS + MINUTE_MS)).toBe(NOW_MS + MINUTE_MS);
    expect(rise(undefined)).toBe(nextRiseMs(young, assumed, NOW_MS, nothingShown));
  });
});
