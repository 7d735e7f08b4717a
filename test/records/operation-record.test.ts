import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { append, HISTORY_ENTRIES_MAX, pendingEntries } from '../../shared/records/journal.ts';
import { acknowledged, hasWork } from '../../shared/records/journal-record.ts';
import {
  decideNextRecord,
  decideTransition,
  decideWatchEnd,
  isOpen,
  isSettled,
  type OperationRecord,
  statusAgeMs,
} from '../../shared/records/operation-record.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../builders.ts';

const last = (record: OperationRecord | undefined) => record?.entries.at(-1);

describe('transitions', () => {
  test('the same status and failure count is no transition, whatever else changed', () => {
    const reading = anOperation({ updated_at: '2030-01-01T00:00:00Z', total_duration_ms: 5 });

    expect(decideNextRecord(aRecord(), reading, aContext())).toBeUndefined();
  });

  test('a failed operation that fails again is a new transition', () => {
    const record = aRecord({ status: 'failed', failures_count: 1 });
    const again = decideNextRecord(record, anOperation({ status: 'failed', failures_count: 3 }), aContext());

    expect(last(again)).toMatchObject({
      previous_status: 'failed',
      status: 'failed',
      new_failures: 2,
      sequence: 2,
    });
  });

  test('first sight has no status before, and counts the failures that are there', () => {
    const entry = last(aRecord({ status: 'failed', failures_count: 2 }));

    expect(entry).toMatchObject({ previous_status: null, new_failures: 2, sequence: 1, revision: 1 });
  });

  test('an unknown status is carried along and is not terminal', () => {
    const record = aRecord({}, { status: 'a_status_of_tomorrow' });

    expect(last(record)).toMatchObject({ previous_status: 'running', status: 'a_status_of_tomorrow' });
    expect(isOpen(record)).toBe(true);
  });

  test.each([
    ['scheduling', 'running', false],
    ['scheduling', 'finished', false],
    ['failed', 'scheduling', false],
    ['finished', 'running', true],
    ['error', 'failed', true],
    ['running', 'scheduling', true],
    ['cancelling', 'scheduling', true],
    ['running', 'cancelled', false],
  ])('%s to %s: irregular is %s', (from, to, irregular) => {
    const reading = { status: to, failures_count: 0 };

    expect(decideTransition({ status: from, failures_count: 0 }, reading)?.irregular).toBe(irregular);
  });

  test('fewer failures than before are irregular, and never a negative number of new ones', () => {
    const transition = decideTransition(
      { status: 'running', failures_count: 3 },
      { status: 'running', failures_count: 1 },
    );

    expect(transition).toMatchObject({ irregular: true, new_failures: 0 });
  });
});

describe('records', () => {
  test('any series of readings gives a chain without gaps that is true to it', () => {
    const status = fc.constantFrom(
      'scheduling',
      'running',
      'failed',
      'finished',
      'cancelling',
      'cancelled',
      'new_one',
    );
    const reading = fc.record({ status, failures_count: fc.integer({ min: 0, max: 4 }) });
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 12 }), (readings) => {
        const record = aRecord(...readings);
        const entries = record.entries.flatMap((entry) => (entry.type === 'state_changed' ? [entry] : []));

        expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => index + 1));
        expect(entries.map((entry) => entry.previous_status)).toEqual([
          null,
          ...entries.slice(0, -1).map((entry) => entry.status),
        ]);
        expect(entries.at(-1)).toMatchObject({ ...readings.at(-1) });
        expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      }),
      { numRuns: 1_000 },
    );
  });

  test('equal readings give equal event ids, so that a restored table repeats itself', () => {
    expect(last(aRecord({}, { status: 'finished' }))?.id).toBe(last(aRecord({}, { status: 'finished' }))?.id);
    expect(last(aRecord({}, { status: 'finished' }))?.id).not.toBe(
      last(aRecord({}, { status: 'skipped' }))?.id,
    );
  });

  test('what older events are rendered from never changes', () => {
    const first = aRecord();
    const next = decideNextRecord(
      first,
      anOperation({
        status: 'finished',
        action: 'other',
        branch_id: undefined,
        created_at: '2000-01-01T00:00:00Z',
      }),
      aContext(),
    );

    expect(next).toMatchObject({
      action: first.action,
      branch_id: first.branch_id,
      created_at: first.created_at,
    });
  });

  test('an error text is kept, up to a few lines of it', () => {
    const entry = last(aRecord({ status: 'failed', failures_count: 1, error: 'x'.repeat(5_000) }));

    expect(entry && 'error' in entry && entry.error).toHaveLength(500);
  });

  test.each([
    ['open', 'running', 1],
    ['all', 'finished', 1],
    ['all', 'running', 1],
    ['none', 'running', 0],
  ] as const)('backfill %s publishes %s history with %i events', (backfill, status, count) => {
    const record = decideNextRecord(undefined, anOperation({ status }), aContext({ history: { backfill } }));

    expect(record?.entries).toHaveLength(count);
    expect(record && hasWork(record)).toBe(status === 'running' || count > 0);
  });

  test('what was recorded silently begins its chain with its next change', () => {
    const silent = decideNextRecord(undefined, anOperation(), aContext({ history: { backfill: 'none' } }));
    const next = decideNextRecord(silent, anOperation({ status: 'finished' }), aContext());

    expect(last(next)).toMatchObject({ sequence: 1, previous_status: 'running', status: 'finished' });
  });

  test('a watch that ended is published once, and has no sequence in the chain of states', () => {
    const failed = aRecord({ status: 'failed', failures_count: 1 });
    const ended = decideWatchEnd(failed, { reason: 'not_retried', nowMs: NOON_MS });

    expect(isOpen(ended)).toBe(false);
    expect(ended).toMatchObject({ sequence: 1, revision: 2 });
    const revived = decideNextRecord(
      ended,
      anOperation({ status: 'running', failures_count: 1 }),
      aContext(),
    );
    expect(revived).toMatchObject({ sequence: 2, revision: 3, watch_ended: false });
  });

  test('is settled once it is terminal and everything is acknowledged', () => {
    const record = aRecord({}, { status: 'finished' });

    expect(isSettled(record)).toBe(false);
    expect(isSettled(acknowledged(record, { through: 1, derived: 1 }))).toBe(false);
    expect(isSettled(acknowledged(record, { through: 2, derived: 2 }))).toBe(true);
  });

  test("an age is never negative, whatever another machine's clock said", () => {
    expect(statusAgeMs(aRecord(), NOON_MS - 86_400_000)).toBe(0);
    expect(statusAgeMs(aRecord(), NOON_MS + 1_500)).toBe(1_500);
  });
});

describe('the journal', () => {
  const revisions = (entries: readonly { readonly revision: number }[]) =>
    entries.map(({ revision }) => revision);
  const grown = (published: number) => {
    let record = aRecord();
    const [entry] = record.entries;
    if (entry === undefined) throw new Error('no entry');
    for (let revision = 2; revision <= 40; revision++) {
      record = { ...record, published: Math.min(published, revision - 1) };
      record = { ...record, ...append(record, { ...entry, revision }) };
    }
    return record;
  };

  test('keeps what is acknowledged as history, and asks for the rest to be sent', () => {
    const record = acknowledged(aRecord({}, { status: 'failed', failures_count: 1 }), {
      through: 1,
      derived: 1,
    });

    expect(revisions(record.entries)).toEqual([1, 2]);
    expect(revisions(pendingEntries(record))).toEqual([2]);
    expect(pendingEntries({ ...record, published: 2 })).toEqual([]);
  });

  test('forgets the oldest of more than it holds', () => {
    expect(revisions(grown(40).entries)).toEqual(
      Array.from({ length: HISTORY_ENTRIES_MAX }, (_, index) => index + 9),
    );
  });

  test('forgets nothing that the bus has not acknowledged, however much it is', () => {
    expect(revisions(pendingEntries(grown(0)))).toHaveLength(40);
    expect(revisions(grown(3).entries)[0]).toBe(4);
  });
});
