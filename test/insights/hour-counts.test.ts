import { describe, expect, test } from 'vitest';
import { createPendingCounts, writeCountsRepeatedly } from '../../functions/poller/account/insights.ts';
import {
  type CountedChange,
  changesOf,
  createHourCountsStore,
  FAILING_PROJECTS_MAX,
  hourOf,
  NO_COUNTS,
  type UtcHour,
  withChanges,
} from '../../shared/insights/hour-counts.ts';
import { decideNextRecord, type OperationRecord } from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const HOUR = '2026-01-15T11' as UtcHour;

const aChange = (fields: Partial<CountedChange> = {}): CountedChange => ({
  hour: HOUR,
  projectId: 'a',
  operationId: 'op-1',
  startedCount: 0,
  failedCount: 1,
  ...fields,
});

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
      ['a', { failed_count: 3, operation_id: 'op-3' }],
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

describe('the counts of a day', () => {
  function setUp() {
    let nowMs = NOON_MS;
    const clock = { now: () => nowMs, sleep: async () => {} };
    const table = createMemoryTable();
    const store = createHourCountsStore(table.as('poller'), 'main');
    const read = () => createHourCountsStore(table.as('api'), 'main').readHours(nowMs);
    const pending = createPendingCounts(clock);
    /** Runs the loop once. */
    const write = async (changed: Partial<typeof store> = {}) => {
      const controller = new AbortController();
      const sleep = async () => controller.abort();
      const hourCounts = { pending, store: { ...store, ...changed } };
      const telemetry = {
        ...silentTelemetry,
        log: (_level: string, event: string) => void logged.push(event),
      };
      await writeCountsRepeatedly({
        hourCounts,
        clock: { ...clock, sleep },
        telemetry,
        signal: controller.signal,
      });
    };
    const logged: string[] = [];
    return {
      pending,
      read,
      write,
      logged,
      pass: (durationMs: number) => {
        nowMs += durationMs;
      },
      nowMs: () => nowMs,
    };
  }

  test('have 24 hours, and are written a minute after the first change', async () => {
    const { pending, read, write, pass } = setUp();
    pending.take(aChange());
    await write();
    expect((await read()).map(({ counts }) => counts.failed_count)).toEqual(Array(24).fill(0));

    pass(60_000);
    await write();
    pending.take(aChange({ hour: '2026-01-15T12' as UtcHour, startedCount: 1 }));
    pass(60_000);
    await write();

    const hours = await read();
    expect(hours.at(0)?.hour).toBe('2026-01-14T13');
    expect(
      hours.slice(-2).map(({ hour, counts }) => [hour, counts.started_count, counts.failed_count]),
    ).toEqual([
      ['2026-01-15T11', 0, 1],
      ['2026-01-15T12', 1, 1],
    ]);
  });

  test('leave out what happened earlier, which a walk through the history shows', async () => {
    const { pending, write, pass, nowMs, read } = setUp();
    pending.take(aChange({ hour: hourOf(nowMs() - 24 * 3_600_000) }));
    pending.take(aChange({ hour: hourOf(nowMs() + 3_600_000) }));

    pass(60_000);
    await write();

    expect((await read()).every(({ counts }) => counts.failed_count === 0)).toBe(true);
  });

  test('count nothing twice and lose nothing when a write is refused, and say what a lost reply costs', async () => {
    const { pending, read, write, pass, logged } = setUp();
    pending.take(aChange());
    pass(60_000);
    await write({ writeHour: async () => 'refused' });
    pass(60_000);
    await write();
    expect((await read()).at(-2)?.counts.failed_count).toBe(1);

    pending.take(aChange());
    pass(60_000);
    await write({ writeHour: async () => Promise.reject(new Error('no reply')) });
    pass(60_000);
    await write();

    expect((await read()).at(-2)?.counts.failed_count).toBe(1);
    expect(logged).toEqual(['hour_counts.dropped']);
  });
});
