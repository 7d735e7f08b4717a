import { describe, expect, test } from 'vitest';
import { activityOf } from '../../../../functions/poller/planner/activity/project-activity.ts';
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
    expect(activityOf(rows, true, NOON_MS)).toMatchObject({ arrivalCount: 2, observedMs: 7 * DAY_MS });
  });

  test('counts whole days once it reaches back further than one', () => {
    const rows = [row('apply_config', HOUR_MS), row('apply_config', 30 * HOUR_MS)];
    const older = row('apply_config', 8 * DAY_MS);

    expect(activityOf(rows, false, NOON_MS)).toMatchObject({ arrivalCount: 1, observedMs: DAY_MS });
    expect(activityOf(rows, true, NOON_MS)).toMatchObject({ arrivalCount: 2, observedMs: 7 * DAY_MS });
    expect(activityOf([...rows, older], false, NOON_MS)).toMatchObject({
      arrivalCount: 2,
      observedMs: 7 * DAY_MS,
    });
  });

  test('names the computes that run, and has no names when none does', () => {
    const started = row('start_compute', MINUTE_MS, { endpoint_id: 'ep-a' });
    const suspended = row('suspend_compute', 0, { endpoint_id: 'ep-a' });

    expect(activityOf([started], true, NOON_MS).activeIds).toEqual(['ep-a']);
    expect(activityOf([suspended, started], true, NOON_MS)).not.toHaveProperty('activeIds');
  });

  test('shows what is open, runs or has ended only of the last day', () => {
    const old = [
      row('start_compute', 30 * HOUR_MS, { endpoint_id: 'ep-a' }),
      row('create_branch', 31 * HOUR_MS, { status: 'running' }),
    ];

    expect(activityOf(old, true, NOON_MS)).toEqual({
      openSinceMs: undefined,
      activeSinceMs: [],
      arrivalCount: 2,
      observedMs: 7 * DAY_MS,
      oldestMs: NOON_MS - 31 * HOUR_MS,
    });
  });

  test('says when its oldest operation was created, counted or not, and nothing of it without any', () => {
    const rows = [row('apply_config', HOUR_MS), row('apply_config', 3 * DAY_MS)];

    expect(activityOf(rows, true, NOON_MS).oldestMs).toBe(NOON_MS - 3 * DAY_MS);
    expect(activityOf([], true, NOON_MS)).not.toHaveProperty('oldestMs');
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

  test('shows what is open for exactly a day, and not for longer', () => {
    const openSinceMs = (ageMs: number) =>
      activityOf([row('apply_config', ageMs, { status: 'running' })], false, NOON_MS).openSinceMs;

    expect([openSinceMs(DAY_MS), openSinceMs(DAY_MS + 1)]).toEqual([NOON_MS - DAY_MS, undefined]);
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
    expect(activityOf([], true, NOON_MS).observedMs).toBe(7 * DAY_MS);
  });

  test('reaches back to its oldest row, also when the list is unordered', () => {
    const rows = [row('apply_config', 2 * HOUR_MS), row('apply_config', HOUR_MS)];

    expect(activityOf(rows, false, NOON_MS).observedMs).toBe(2 * HOUR_MS);
  });

  test('counts a row that is exactly a week old, and counts a day when the time of a row cannot be read', () => {
    const old = row('apply_config', 7 * DAY_MS);
    const unreadable = { ...old, created_at: 'soon' };

    expect(activityOf([old], false, NOON_MS)).toMatchObject({ arrivalCount: 1, observedMs: 7 * DAY_MS });
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
