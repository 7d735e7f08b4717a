import { describe, expect, test } from 'vitest';
import {
  longestUnread,
  nextStatus,
  POINTS_MAX,
  type StatusSample,
} from '../../shared/records/account-status.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const sample = (fields: Partial<StatusSample> = {}): StatusSample => ({
  account_id: 'main',
  nowMs: NOON_MS,
  sinceMs: NOON_MS - 60_000,
  lastCompleteWalkAtMs: NOON_MS - 5_000,
  project_count: 3,
  open_operation_count: 1,
  requests_per_minute: 350,
  tally: { requestCount: 42, throttledCount: 1, delaysMs: [300, 100, 200] },
  ...fields,
});

describe('the status of an account', () => {
  test('says what happened since the last write', () => {
    expect(nextStatus(undefined, sample())).toEqual({
      account_id: 'main',
      written_at: '2026-01-15T12:00:00.000Z',
      last_complete_walk_at: '2026-01-15T11:59:55.000Z',
      project_count: 3,
      open_operation_count: 1,
      requests_per_minute: 350,
      points: [
        {
          at_ms: NOON_MS,
          duration_ms: 60_000,
          request_count: 42,
          throttled_count: 1,
          transition_count: 3,
          delay_p50_ms: 200,
          delay_p95_ms: 300,
          delay_max_ms: 300,
        },
      ],
    });
  });

  test('knows no delay without a transition, and no complete walk before there was one', () => {
    const tally = { requestCount: 1, throttledCount: 0, delaysMs: [] };
    const status = nextStatus(undefined, sample({ tally, lastCompleteWalkAtMs: undefined }));

    expect(status.points[0]?.delay_p50_ms).toBeUndefined();
    expect(status.last_complete_walk_at).toBeUndefined();
  });

  test('comes back from the table as it was, at two hours of points, in a few kilobytes', async () => {
    const table = createMemoryTable();
    let status = nextStatus(undefined, sample());
    for (let minute = 1; minute < 200; minute++) {
      status = nextStatus(
        status,
        sample({
          nowMs: NOON_MS + minute * 60_000,
          tally: { requestCount: 350, throttledCount: 0, delaysMs: minute % 2 === 0 ? [] : [1_234] },
        }),
      );
    }

    await writeAccountStatus(table, status);

    expect(status.points).toHaveLength(POINTS_MAX);
    expect(await readAccountStatus(table, 'main')).toEqual(status);
    expect(table.spent.base).toBeLessThanOrEqual(8);
  });

  test('comes back with what was found out about the upstream, and without it when that is unreadable', async () => {
    const table = createMemoryTable();
    const share = { share: 0.56, changedAtMs: NOON_MS - 30_000, ceiling: 0.7, holdMs: 300_000 };
    const hint = { name: 'updated_at', recall: { foundCount: 1, missedCount: 0 }, hitCount: 1, moveCount: 1 };
    const learned = { limit: { share, pausedUntilMs: NOON_MS + 900 }, hints: [hint] };
    const status = nextStatus(undefined, sample({ learned }));
    await writeAccountStatus(table, status);

    expect(await readAccountStatus(table, 'main')).toEqual(status);
    await table.update({ key: { pk: 'A#main', sk: 'STATUS' }, set: { learned: 'of another version' } });
    expect(await readAccountStatus(table, 'main')).toEqual({ ...status, learned: undefined });
  });

  test('of another version is none', async () => {
    const table = createMemoryTable();
    await table.update({ key: { pk: 'A#main', sk: 'STATUS' }, set: { kind: 'status', points: 'other' } });

    expect(await readAccountStatus(table, 'main')).toBeUndefined();
  });
});

describe('what the status says of unread projects', () => {
  const unread = (count: number) =>
    Array.from({ length: count }, (_, place) => ({
      project_id: `p-${String(place).padStart(2, '0')}`,
      since: '2026-01-15T11:00:00.000Z',
      reason: 'timeout',
    }));

  test('names the twenty that were not read for longest, and counts all', () => {
    const status = nextStatus(undefined, sample({ unread: unread(25), unreadSinceMs: NOON_MS - 9_000 }));

    expect(status.unread_projects).toEqual(unread(25).slice(0, 20));
    expect(status.unread_project_count).toBe(25);
    expect(status.unread_since).toBe('2026-01-15T11:59:51.000Z');
  });

  test('is nothing when all were read', () => {
    expect(Object.keys(nextStatus(undefined, sample({ unread: [] })))).not.toContain('unread_projects');
  });

  test('is in the order of their age, and of their id where that is the same', () => {
    const [a, b, c] = unread(3);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three are needed');
    const older = { ...c, since: '2026-01-15T10:00:00.000Z' };

    expect(longestUnread([b, a, older]).map(({ project_id }) => project_id)).toEqual([
      'p-02',
      'p-00',
      'p-01',
    ]);
    expect(longestUnread([older, a, b]).map(({ project_id }) => project_id)).toEqual([
      'p-02',
      'p-00',
      'p-01',
    ]);
  });
});

test('a status whose tally began in the future covers no time', () => {
  expect(nextStatus(undefined, sample({ sinceMs: NOON_MS + 5 })).points[0]?.duration_ms).toBe(0);
});

test('the points of a status are the old ones and the new one, in their order', () => {
  const first = nextStatus(undefined, sample());
  const second = nextStatus(first, sample({ nowMs: NOON_MS + 1 }));

  expect(second.points.map(({ at_ms }) => at_ms)).toEqual([NOON_MS, NOON_MS + 1]);
});

test('the delays of a status are those of half, of nineteen in twenty, and of the last of all', () => {
  const delaysMs = Array.from({ length: 100 }, (_, place) => (place * 37) % 100);
  const [point] = nextStatus(
    undefined,
    sample({ tally: { requestCount: 0, throttledCount: 0, delaysMs } }),
  ).points;

  expect(point).toMatchObject({
    delay_p50_ms: 50,
    delay_p95_ms: 95,
    delay_max_ms: 99,
    transition_count: 100,
  });
});
