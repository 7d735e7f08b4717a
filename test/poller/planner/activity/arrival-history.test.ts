import { describe, expect, test } from 'vitest';
import {
  type ArrivalHistory,
  longRunHistory,
  withinAccount,
} from '../../../../functions/poller/planner/activity/arrival-history.ts';
import { NOON_MS } from '../../../builders.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('what a list says that ends', () => {
  const page = { arrivalCount: 2, observedMs: 7 * DAY_MS };

  test('counts from the oldest operation of the account on, and for a day in any case', () => {
    expect(withinAccount(page, NOON_MS - 3 * DAY_MS, NOON_MS)).toEqual({ ...page, observedMs: 3 * DAY_MS });
    expect(withinAccount(page, NOON_MS - HOUR_MS, NOON_MS)).toEqual({ ...page, observedMs: DAY_MS });
    expect(withinAccount(page, Number.POSITIVE_INFINITY, NOON_MS).observedMs).toBe(DAY_MS);
  });

  test('stays as it is in an older account, and when it covers less than a day', () => {
    const short = { arrivalCount: 2, observedMs: HOUR_MS };

    expect(withinAccount(page, NOON_MS - 30 * DAY_MS, NOON_MS)).toEqual(page);
    expect(withinAccount(short, Number.POSITIVE_INFINITY, NOON_MS)).toEqual(short);
  });
});

describe('what is known after one page more', () => {
  const perHour = ({ arrivalCount, observedMs }: ArrivalHistory) => (arrivalCount * HOUR_MS) / observedMs;
  const pageOf = (rate: number): ArrivalHistory => ({
    arrivalCount: 100,
    observedMs: (100 * HOUR_MS) / rate,
  });

  test('is the page, when it is the first one or covers a day by itself', () => {
    const day = { arrivalCount: 12, observedMs: DAY_MS };

    expect(longRunHistory(undefined, pageOf(50), MINUTE_MS)).toEqual(pageOf(50));
    expect(longRunHistory({ arrivalCount: 90, observedMs: DAY_MS }, day, MINUTE_MS)).toEqual(day);
  });

  test('of a busy project is the mean of its day, not the hour that its page shows', () => {
    let known: ArrivalHistory | undefined;
    for (let minute = 0; minute < 3 * 24 * 60; minute++) {
      const isNight = minute % (24 * 60) < 12 * 60;
      known = longRunHistory(known, pageOf(isNight ? 20 : 180), MINUTE_MS);
    }

    expect(known && perHour(known)).toBeGreaterThan(70);
    expect(known && perHour(known)).toBeLessThan(145);
    expect(known?.observedMs).toBe(DAY_MS);
  });

  test('forgets what was different long ago', () => {
    let known: ArrivalHistory = { arrivalCount: 24_000, observedMs: DAY_MS };
    for (let minute = 0; minute < 4 * 24 * 60; minute++) known = longRunHistory(known, pageOf(10), MINUTE_MS);

    expect(perHour(known)).toBeLessThan(30);
  });

  test('is what an earlier process knew, as long as no time has passed for this one', () => {
    const known = { arrivalCount: 1_000, observedMs: DAY_MS };

    expect(longRunHistory(known, pageOf(100), 0)).toEqual(known);
  });

  test('counts the page for the time that has passed, and what was known for the rest', () => {
    const before = { arrivalCount: 10, observedMs: 10 * HOUR_MS };
    const page = { arrivalCount: 30, observedMs: 3 * HOUR_MS };

    expect(longRunHistory(before, page, HOUR_MS)).toEqual({ arrivalCount: 20, observedMs: 11 * HOUR_MS });
  });

  test('is the page, when the page covers exactly the time that has passed', () => {
    const page = { arrivalCount: 30, observedMs: HOUR_MS };

    expect(longRunHistory({ arrivalCount: 10, observedMs: HOUR_MS }, page, HOUR_MS)).toEqual(page);
  });
});
