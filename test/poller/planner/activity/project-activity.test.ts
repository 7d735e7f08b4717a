import { describe, expect, test } from 'vitest';
import {
  type ArrivalHistory,
  activityOf,
  longRunHistory,
} from '../../../../functions/poller/planner/activity/project-activity.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const ago = (ms: number) => new Date(NOON_MS - ms).toISOString();
const row = (action: string, ageMs: number, fields: Partial<ReturnType<typeof anOperation>> = {}) =>
  anOperation({ action, status: 'finished', created_at: ago(ageMs), updated_at: ago(ageMs), ...fields });

describe('a page of operations', () => {
  test('shows how many began in the time that it reaches back, suspends left out', () => {
    const rows = [
      row('start_compute', MINUTE_MS),
      row('suspend_compute', HOUR_MS),
      row('apply_config', 2 * HOUR_MS),
    ];

    expect(activityOf(rows, false, NOON_MS)).toMatchObject({ arrivalCount: 2, observedMs: 2 * HOUR_MS });
    expect(activityOf(rows, true, NOON_MS)).toMatchObject({ arrivalCount: 2, observedMs: DAY_MS });
  });

  test('reaches back a day at most', () => {
    const rows = [row('apply_config', HOUR_MS), row('apply_config', 30 * HOUR_MS)];

    expect(activityOf(rows, false, NOON_MS)).toMatchObject({ arrivalCount: 1, observedMs: DAY_MS });
  });

  test('shows which computes run, by the newest operation of each', () => {
    const rows = [
      row('start_compute', MINUTE_MS, { endpoint_id: 'ep-a' }),
      row('suspend_compute', 2 * MINUTE_MS, { endpoint_id: 'ep-b' }),
      row('start_compute', 3 * MINUTE_MS, { endpoint_id: 'ep-b' }),
      row('suspend_compute', 4 * MINUTE_MS, { endpoint_id: 'ep-a' }),
    ];

    expect(activityOf(rows, true, NOON_MS).activeSinceMs).toEqual([NOON_MS - MINUTE_MS]);
  });

  test('shows since when the youngest open operation is open', () => {
    const open = { status: 'running' };
    const rows = [
      row('apply_config', MINUTE_MS),
      row('apply_config', 2 * MINUTE_MS, open),
      row('apply_config', 3 * MINUTE_MS, open),
    ];

    expect(activityOf(rows, true, NOON_MS).openSinceMs).toBe(NOON_MS - 2 * MINUTE_MS);
  });

  test('shows what has lasted how long, and says nothing of that when it shows none', () => {
    const ended = row('create_branch', 2 * MINUTE_MS, { updated_at: ago(MINUTE_MS) });
    const open = row('create_branch', MINUTE_MS, { status: 'running' });

    expect(activityOf([ended], false, NOON_MS).lifetimes).toEqual([
      { action: 'create_branch', beganMs: NOON_MS - 2 * MINUTE_MS, endedMs: NOON_MS - MINUTE_MS },
    ]);
    expect(activityOf([open], false, NOON_MS)).not.toHaveProperty('lifetimes');
    expect(activityOf([ended], false, NOON_MS)).toHaveProperty('openSinceMs', undefined);
  });

  test('that fills up within a minute counts as a minute', () => {
    expect(activityOf([row('apply_config', 10_000)], false, NOON_MS).observedMs).toBe(MINUTE_MS);
  });

  test('without rows reaches back no further than a minute, unless the list is empty', () => {
    expect(activityOf([], false, NOON_MS)).toEqual({
      openSinceMs: undefined,
      activeSinceMs: [],
      arrivalCount: 0,
      observedMs: MINUTE_MS,
    });
    expect(activityOf([], true, NOON_MS).observedMs).toBe(DAY_MS);
  });

  test('reaches back to its oldest row, also when the list is unordered', () => {
    const rows = [row('apply_config', 2 * HOUR_MS), row('apply_config', HOUR_MS)];

    expect(activityOf(rows, false, NOON_MS).observedMs).toBe(2 * HOUR_MS);
  });

  test('counts a row that is exactly a day old, and ends at the first row that is older or whose time cannot be read', () => {
    const old = row('apply_config', DAY_MS);
    const unreadable = { ...old, created_at: 'soon' };

    expect(activityOf([old], false, NOON_MS)).toMatchObject({ arrivalCount: 1, observedMs: DAY_MS });
    expect(activityOf([unreadable, old], false, NOON_MS)).toMatchObject({
      arrivalCount: 0,
      observedMs: DAY_MS,
    });
  });

  test('shows a compute as running only once its start has ended, and since then', () => {
    const starting = row('start_compute', MINUTE_MS, { status: 'running', endpoint_id: 'ep-a' });
    const started = { ...starting, status: 'finished', updated_at: ago(5_000) };

    expect(activityOf([starting], true, NOON_MS).activeSinceMs).toEqual([]);
    expect(activityOf([started], true, NOON_MS).activeSinceMs).toEqual([NOON_MS - 5_000]);
  });

  test('takes a compute without an id of its own for that of its branch', () => {
    const start = row('start_compute', 2 * MINUTE_MS);
    const { endpoint_id: _left, ...bare } = start;
    const other = { ...bare, branch_id: 'br-b' };
    const suspend = { ...bare, action: 'suspend_compute', branch_id: 'br-a' };

    expect(activityOf([suspend, { ...bare, branch_id: 'br-a' }, other], true, NOON_MS).activeSinceMs).toEqual(
      [NOON_MS - 2 * MINUTE_MS],
    );
  });

  test('does not take another operation of a compute for its start', () => {
    const rows = [row('apply_config', MINUTE_MS), row('start_compute', 2 * MINUTE_MS)];

    expect(activityOf(rows, true, NOON_MS).activeSinceMs).toEqual([NOON_MS - 2 * MINUTE_MS]);
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
