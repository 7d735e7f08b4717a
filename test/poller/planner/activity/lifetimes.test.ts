import { describe, expect, test } from 'vitest';
import {
  createLifetimeReader,
  type LifetimeRow,
} from '../../../../functions/poller/planner/activity/lifetimes.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';

const MINUTE_MS = 60_000;
const at = (minute: number) => new Date(NOON_MS + minute * MINUTE_MS).toISOString();

/** An operation that was created in one minute after noon, and last changed in another. */
const row = (action: string, createdMin: number, fields: Partial<LifetimeRow> = {}) =>
  anOperation({
    action,
    status: 'finished',
    created_at: at(createdMin),
    updated_at: at(createdMin),
    endpoint_id: 'ep-a',
    ...fields,
  });

/** Reads the rows, which are given with the newest first. */
function read(...rows: readonly LifetimeRow[]) {
  const reader = createLifetimeReader();
  for (const each of rows) reader.take(each, Date.parse(each.created_at));
  const minutes = (ms: number | undefined) => (ms === undefined ? undefined : (ms - NOON_MS) / MINUTE_MS);
  const all = reader.lifetimes.map(({ action, beganMs, endedMs }) => [
    action,
    minutes(beganMs),
    minutes(endedMs),
  ]);
  return {
    operations: all.filter(([action]) => action !== undefined),
    uses: all.filter(([action]) => action === undefined).map(([, ...times]) => times),
    active: reader.activeSinceMs().map(minutes),
  };
}

describe('a page shows how long', () => {
  test('each operation took that has ended', () => {
    const open = row('apply_config', 3, { status: 'running' });
    const ended = row('create_branch', 1, { updated_at: at(2) });

    expect(read(open, ended).operations).toEqual([['create_branch', 1, 2]]);
  });

  test('an operation took that ended within the second of its creation', () => {
    expect(read(row('create_branch', 1)).operations).toEqual([['create_branch', 1, 1]]);
  });

  test('no operation took whose end is before its creation or cannot be read', () => {
    const backwards = row('create_branch', 1, { updated_at: at(0) });
    const unreadable = row('create_branch', 1, { updated_at: 'soon' });

    expect(read(backwards, unreadable).operations).toEqual([]);
  });

  test('a compute was used: from the end of its start to the beginning of its suspend', () => {
    const suspend = row('suspend_compute', 9, { status: 'running' });
    const start = row('start_compute', 1, { updated_at: at(2) });

    expect(read(suspend, start)).toMatchObject({ uses: [[2, 9]], active: [] });
  });

  test('a compute has run that was not suspended since', () => {
    const rows = [row('start_compute', 8), row('suspend_compute', 5), row('start_compute', 1)];

    expect(read(...rows)).toMatchObject({
      uses: [
        [8, undefined],
        [1, 5],
      ],
      active: [8],
    });
  });

  test('computes were used, each by itself', () => {
    const other = { endpoint_id: 'ep-b' };
    const rows = [row('suspend_compute', 5), row('start_compute', 3, other), row('start_compute', 1)];

    expect(read(...rows).uses).toEqual([
      [3, undefined],
      [1, 5],
    ]);
  });
});

describe('a page does not show how long a compute was used', () => {
  test('that was started twice without a suspend between, before the second start', () => {
    expect(read(row('start_compute', 3), row('start_compute', 1)).uses).toEqual([[3, undefined]]);
  });

  test('whose start has not ended, or is not on the page', () => {
    expect(read(row('start_compute', 3, { status: 'running' })).uses).toEqual([]);
    expect(read(row('suspend_compute', 3)).uses).toEqual([]);
  });
});

test('a compute that runs is named by its id, and one that was suspended is not', () => {
  const reader = createLifetimeReader();
  const rows = [
    row('suspend_compute', 9, { endpoint_id: 'ep-b' }),
    row('start_compute', 1),
    row('start_compute', 0, { endpoint_id: 'ep-b' }),
  ];
  for (const each of rows) reader.take(each, Date.parse(each.created_at));
  expect(reader.activeIds()).toEqual(['ep-a']);
});
