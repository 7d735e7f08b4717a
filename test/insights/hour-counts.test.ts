import { describe, expect, test } from 'vitest';
import {
  changesOf,
  createHourCountsStore,
  FAILING_PROJECTS_MAX,
  NO_COUNTS,
  withChanges,
} from '../../shared/insights/hour-counts.ts';
import { decideNextRecord, type OperationRecord } from '../../shared/records/operation-record.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { aChange, addTo, LAST_HOUR } from './values.ts';

/** Records the readings one after the other, and returns what each adds. */
function changesOfReadings(...readings: readonly Parameters<typeof anOperation>[0][]) {
  let record: OperationRecord | undefined;
  return readings.map((reading) => {
    record = decideNextRecord(record, anOperation(reading), { ...aContext(), nowMs: NOON_MS }) ?? record;
    return record === undefined ? [] : changesOf(record);
  });
}

describe('a recorded transition', () => {
  const created_at = '2026-01-15T10:59:59.9Z';

  test('counts the beginning of an operation in the hour in which the upstream created it', () => {
    const [first, second] = changesOfReadings(
      { status: 'scheduling', created_at, updated_at: created_at },
      { status: 'running', created_at, updated_at: '2026-01-15T11:00:01Z' },
    );

    expect(first).toMatchObject([{ hour: '2026-01-15T10', startedCount: 1, failedCount: 0 }]);
    expect(second).toEqual([]);
  });

  test('counts every failed attempt in the hour in which the upstream changed the operation', () => {
    const updated_at = '2026-01-15T11:00:01Z';
    const [, failed, again, givenUp] = changesOfReadings(
      { status: 'running', created_at, updated_at: created_at },
      { status: 'failed', failures_count: 1, created_at, updated_at },
      { status: 'failed', failures_count: 3, created_at, updated_at },
      { status: 'error', failures_count: 3, created_at, updated_at },
    );

    expect(failed).toMatchObject([{ hour: '2026-01-15T11', startedCount: 0, failedCount: 1 }]);
    expect(again).toMatchObject([{ failedCount: 2 }]);
    expect(givenUp).toMatchObject([{ failedCount: 1 }]);
  });
});

describe('the counts of an hour', () => {
  test('name each project with failures once, the one that failed last at the end', () => {
    const counts = withChanges(NO_COUNTS, [
      aChange(),
      aChange({ projectId: 'b', operationId: 'op-2' }),
      aChange({ operationId: 'op-3', failedCount: 2 }),
      aChange({ projectId: 'c', startedCount: 1, failedCount: 0 }),
    ]);

    expect(counts.started_count).toBe(1);
    expect(counts.failed_count).toBe(4);
    expect([...counts.failing]).toEqual([
      ['b', { failed_count: 1, operation_id: 'op-2' }],
      [aChange().projectId, { failed_count: 3, operation_id: 'op-3' }],
    ]);
  });

  test('name a bounded number of projects, and count the failures of the others in the sum', () => {
    const changes = Array.from({ length: FAILING_PROJECTS_MAX + 10 }, (_, index) =>
      aChange({ projectId: `p-${index}` }),
    );

    const counts = withChanges(NO_COUNTS, changes);

    expect(counts.failing.size).toBe(FAILING_PROJECTS_MAX);
    expect(counts.failed_count).toBe(FAILING_PROJECTS_MAX + 10);
  });
});

describe('the hours', () => {
  function setUp() {
    const table = createMemoryTable();
    return {
      table,
      item: createHourCountsStore(table.as('poller'), 'main').itemOf(LAST_HOUR),
      read: () => createHourCountsStore(table.as('api'), 'main').readHours(NOON_MS),
    };
  }

  test('of the last day are 24, the present one at the end', async () => {
    const { item, read } = setUp();
    await addTo(item, [aChange(), aChange()]);
    await addTo(item, [aChange({ startedCount: 1 })]);

    const hours = await read();

    expect(hours).toHaveLength(24);
    expect(hours.at(0)).toEqual({ hour: '2026-01-14T13', counts: NO_COUNTS });
    expect(hours.at(-2)).toMatchObject({ hour: LAST_HOUR, counts: { started_count: 1, failed_count: 3 } });
  });

  test('are kept for two days', async () => {
    const { table, item } = setUp();

    await addTo(item, [aChange()]);

    const [stored] = table.sync.items();
    expect(new Date(Number(stored?.['expires_at']) * 1_000).toISOString()).toBe('2026-01-17T11:00:00.000Z');
  });

  test('that an earlier version has written are read, too', async () => {
    const { table, item, read } = setUp();
    const set = {
      kind: 'hour_counts',
      revision: 7,
      started_count: 2,
      failed_count: 1,
      failing: [['a', 1, 'op']],
    };
    table.sync.update({ key: item.key, set });

    expect((await read()).at(-2)?.counts).toMatchObject({ started_count: 2, failed_count: 1 });
    expect(await item.read()).toMatchObject({ revision: 7 });
  });
});
