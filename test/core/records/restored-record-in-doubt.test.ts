/** Shows what is restored when a journal holds entries of other kinds, has dropped its oldest, or contradicts itself. */

import { describe, expect, test } from 'vitest';
import { HISTORY_ENTRIES_MAX } from '../../../shared/core/journal/journal.ts';
import type { OperationEntry } from '../../../shared/core/journal/journal-entries.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import {
  decideNextRecord,
  decideStall,
  type OperationRecord,
} from '../../../shared/core/records/operation-record.ts';
import { restoreRecord } from '../../../shared/core/records/restored-record.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../../builders.ts';

const STEPS = [
  { status: 'scheduling', updated_at: '2026-01-15T11:59:50Z' },
  { status: 'running', updated_at: '2026-01-15T11:59:52Z' },
  { status: 'finished', updated_at: '2026-01-15T12:00:03Z' },
] as const satisfies readonly Partial<Operation>[];
const ENDED = anOperation(STEPS[2]);

const allPublished = (record: OperationRecord): OperationRecord => ({
  ...record,
  published: record.revision,
});

const without = (record: OperationRecord, isLost: (entry: OperationEntry) => boolean): OperationRecord => ({
  ...record,
  entries: record.entries.filter((entry) => !isLost(entry)),
});

const isEvent = (sequence: number) => (entry: OperationEntry) =>
  entry.type === 'state_changed' && entry.sequence === sequence;

/** Records the next reading, and the bus takes its event. */
function next(record: OperationRecord | undefined, reading: Partial<Operation>, context = aContext()) {
  const recorded = decideNextRecord(record, anOperation(reading), context);
  if (recorded === undefined) throw new Error('nothing was recorded');
  return allPublished(recorded);
}

/** The operation of `STEPS`, which was reported as stalled before its event `sequence`. */
function stalledBefore(sequence: number): OperationRecord {
  const stall = { threshold_ms: 60_000, open_ms: 61_000, nowMs: NOON_MS, usual_duration: undefined };
  const before = aRecord(...STEPS.slice(0, sequence - 1));
  return STEPS.slice(sequence - 1).reduce<OperationRecord>(
    (record, step) => next(record, step),
    allPublished(decideStall(before, stall)),
  );
}

/** An operation that ran and failed in turn until it had `count` events. */
function retried(count: number): OperationRecord {
  const readings = Array.from({ length: count - 1 }, (_, index) => index + 1).map((index) => ({
    status: index % 2 === 0 ? 'running' : 'failed',
    failures_count: Math.ceil(index / 2),
    updated_at: new Date(NOON_MS + index * 1_000).toISOString(),
  }));
  const first = next(undefined, { status: 'running', updated_at: new Date(NOON_MS).toISOString() });
  return readings.reduce<OperationRecord>((record, reading) => next(record, reading), first);
}

const idsOf = (record: OperationRecord | undefined) =>
  record?.entries.map(({ id, revision }) => [revision, id]);
const nowOf = ({ status, failures_count, updated_at }: OperationRecord) =>
  anOperation({ status, failures_count, updated_at });

describe('a deleted event', () => {
  test.each([2, 3])('behind the report of a stall comes back behind it: event %i', (sequence) => {
    const record = stalledBefore(sequence);

    const { record: restored } = restoreRecord(without(record, isEvent(sequence)), ENDED, false);

    expect(idsOf(restored)).toEqual(idsOf(record));
  });

  test('that the bus had not taken yet comes back, too', () => {
    const record = { ...stalledBefore(3), published: 0 };

    const { record: restored } = restoreRecord(without(record, isEvent(2)), ENDED, false);

    expect(idsOf(restored)).toEqual(idsOf(record));
  });

  test.each([
    [1, 'command'],
    [2, 'poll'],
  ])('%i of an operation that a command started comes back as observed by the %s', (sequence, observedBy) => {
    const command = { client_id: 'an-app', request_id: 'r-1' };
    const first = next(undefined, STEPS[0], aContext({ observed_by: 'command', command }));
    const record = next(next(first, STEPS[1]), STEPS[2]);

    const { record: restored } = restoreRecord(without(record, isEvent(sequence)), ENDED, false);

    expect(restored?.entries.find(isEvent(sequence))).toMatchObject({ observed_by: observedBy, command });
  });

  test('that was irregular comes back as irregular', () => {
    const running = { ...STEPS[1], updated_at: '2026-01-15T12:01:00Z' };
    const record = next(next(undefined, ENDED), running);

    const { record: restored } = restoreRecord(without(record, isEvent(2)), anOperation(running), false);

    expect(restored?.entries.at(-1)).toMatchObject({ status: 'running', irregular: true });
  });
});

describe('of a journal with more events than it keeps', () => {
  test('those that were dropped for their age are not missed', () => {
    const record = retried(HISTORY_ENTRIES_MAX + 1);

    expect(restoreRecord(record, nowOf(record), false)).toEqual({ record: undefined, lostSequences: [] });
  });

  test('a deleted one that is younger comes back', () => {
    const record = retried(HISTORY_ENTRIES_MAX + 8);

    const { record: restored } = restoreRecord(without(record, isEvent(20)), nowOf(record), false);

    expect(idsOf(restored)).toEqual(idsOf(record));
  });

  test('the first one comes back while the journal is just full', () => {
    const record = retried(HISTORY_ENTRIES_MAX);

    const { record: restored } = restoreRecord(without(record, isEvent(1)), nowOf(record), false);

    expect(idsOf(restored)).toEqual(idsOf(record));
  });
});

describe('nothing is invented', () => {
  const record = allPublished(aRecord(...STEPS));
  const withEntry = (sequence: number, damage: object): OperationRecord => ({
    ...record,
    entries: record.entries.map((entry) => (isEvent(sequence)(entry) ? { ...entry, ...damage } : entry)),
  });

  test('when an entry that cannot be read has the place of the lost event', () => {
    const foreign = [{ revision: 2, stored: { type: 'of a newer version' } }];
    const damaged = { ...without(record, isEvent(2)), foreign };

    expect(restoreRecord(damaged, ENDED, false)).toEqual({ record: undefined, lostSequences: [2] });
  });

  test('when the count names one more event, the state is another one, and no entry is missing', () => {
    const damaged = { ...record, sequence: 4, status: 'error' };

    expect(restoreRecord(damaged, ENDED, false)).toEqual({ record: undefined, lostSequences: [4] });
  });

  test('when the events around the lost one follow each other without a change between them', () => {
    const last = withEntry(3, { previous_status: 'scheduling' });

    expect(restoreRecord(without(last, isEvent(2)), ENDED, false).lostSequences).toEqual([2]);
  });

  test('when the event behind the lost one names no state before it', () => {
    const last = withEntry(3, { previous_status: null });

    expect(restoreRecord(without(last, isEvent(2)), ENDED, false).lostSequences).toEqual([2]);
  });

  test('when another entry behind the restored event is lost for good', () => {
    const stalled = stalledBefore(3);
    const damaged = without(stalled, (entry) => isEvent(2)(entry) || entry.type === 'operation_stalled');

    expect(restoreRecord(damaged, ENDED, false)).toEqual({ record: undefined, lostSequences: [] });
  });
});

describe('the end of an operation that had stalled', () => {
  test('comes back as it was', () => {
    const stalled = stalledBefore(3);

    const { record } = restoreRecord(without(stalled, isEvent(3)), ENDED, false);

    expect(record?.entries.at(-1)).toMatchObject({ sequence: 3, was_stalled: true });
  });
});

describe('an operation that was recorded without an event', () => {
  const silent = (reading: Partial<Operation>) => {
    const context = aContext({ history: { backfill: 'none' } });
    return next(undefined, reading, context);
  };

  test.each([
    ['has ended since', STEPS[1], ENDED],
    ['had ended, and runs again', ENDED, anOperation(STEPS[1])],
  ])('is left to the next reading when it %s, so that its change becomes an event', (_what, was, reading) => {
    expect(restoreRecord(silent(was), reading, true)).toEqual({ record: undefined, lostSequences: [] });
  });

  test('has no lost event when its state is damaged', () => {
    const recorded = silent(ENDED);

    expect(restoreRecord({ ...recorded, failures_count: 9 }, ENDED, true)).toEqual({
      record: recorded,
      lostSequences: [],
    });
  });

  test('is left alone when the only entry of its journal reports a stall', () => {
    const stall = { threshold_ms: 60_000, open_ms: 61_000, nowMs: NOON_MS, usual_duration: undefined };
    const recorded = allPublished(decideStall(silent(STEPS[1]), stall));

    expect(restoreRecord(recorded, ENDED, true)).toEqual({ record: undefined, lostSequences: [] });
  });

  test('has a first event that names no event before it', () => {
    const recorded = next(silent(STEPS[1]), STEPS[2]);

    expect(recorded.entries).toMatchObject([{ sequence: 1, previous_status: 'running' }]);
    expect(recorded.entries[0]).toMatchObject({ previous_updated_at: undefined });
  });
});
