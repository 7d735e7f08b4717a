/** Damages records in every way that loses one thing, and compares what is restored with what was there. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StateChangedEntry } from '../../../shared/core/journal/journal-entries.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import { decideNextRecord, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { restoreRecord } from '../../../shared/core/records/restored-record.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../../builders.ts';

const CHAIN = [
  { status: 'scheduling', updated_at: '2026-01-15T11:59:50Z' },
  { status: 'running', updated_at: '2026-01-15T11:59:52Z' },
  { status: 'failed', failures_count: 1, updated_at: '2026-01-15T11:59:57Z' },
  { status: 'finished', failures_count: 1, updated_at: '2026-01-15T12:00:03Z', total_duration_ms: 13_000 },
] as const satisfies readonly Partial<Operation>[];
const NOW = anOperation(CHAIN[3]);

/** The record of the chain, all of it acknowledged by the bus. */
function published(): OperationRecord {
  const record = aRecord(...CHAIN);
  return { ...record, published: record.revision };
}

const without = (record: OperationRecord, ...sequences: readonly number[]): OperationRecord => ({
  ...record,
  entries: record.entries.filter(
    (entry) => entry.type !== 'state_changed' || !sequences.includes(entry.sequence),
  ),
});

/** Nothing says any more when and by which part of the bridge a lost entry was observed. */
const lasting = (record: OperationRecord | undefined) => {
  if (record === undefined) return undefined;
  const entries = record.entries.map(({ observed_at: _at, ...entry }) => entry);
  return { ...record, published: 0, entries };
};

describe('a deleted event', () => {
  test.each([1, 2, 3, 4])('%i of 4 is restored with its own id, and counts as not published', (sequence) => {
    const record = published();

    const { record: restored, lostSequences } = restoreRecord(without(record, sequence), NOW, false);

    expect(lasting(restored)).toEqual(lasting(record));
    expect(restored?.published).toBe(sequence - 1);
    expect(lostSequences).toEqual([]);
  });

  test('of an older version has no link to the one before, so that one stays lost', () => {
    const record = published();
    const older = record.entries.map(({ ...entry }) => ({ ...entry, previous_updated_at: undefined }));

    const middle = restoreRecord(without({ ...record, entries: older }, 2), NOW, false);
    const last = restoreRecord(without({ ...record, entries: older }, 4), NOW, false);

    expect(middle).toEqual({ record: undefined, lostSequences: [2] });
    expect(last.lostSequences).toEqual([]);
  });

  test('beside another deleted one stays lost, because the state between them is not known', () => {
    const { record, lostSequences } = restoreRecord(without(published(), 3, 4), NOW, false);

    expect(record).toBeUndefined();
    expect(lostSequences).toEqual([3, 4]);
  });

  test('that was the first of a history stays lost: a silent state may have come before it', () => {
    expect(restoreRecord(without(published(), 1), NOW, true).lostSequences).toEqual([1]);
  });
});

describe('a changed row', () => {
  test.each<Partial<OperationRecord>>([
    { status: 'running' },
    { failures_count: 7 },
    { updated_at: '2030-01-01T00:00:00Z' },
    { sequence: 2 },
    { sequence: 5 },
    { revision: 3, published: 3 },
  ])('gets the state of its last event back, without a further event: %o', (damage) => {
    const record = published();

    const restored = restoreRecord({ ...record, ...damage }, NOW, false);

    expect(lasting(restored.record)).toEqual(lasting(record));
    expect(restored.lostSequences).toEqual([]);
    expect(decideNextRecord(restored.record, NOW, aContext())).toBeUndefined();
  });

  test('whose operation has gone on meanwhile is restored first, so that the chain has no break', () => {
    const record = { ...published(), status: 'running', failures_count: 0 };
    const reading = { ...NOW, status: 'error', failures_count: 2, updated_at: '2026-01-15T12:05:00Z' };

    const { record: restored } = restoreRecord(record, reading, false);
    const next = decideNextRecord(restored, reading, aContext({ nowMs: NOON_MS + 1 }));

    expect(next?.entries.at(-1)).toMatchObject({
      sequence: 5,
      previous_status: 'finished',
      status: 'error',
      new_failures: 1,
    });
  });

  test('of an operation that ended before the bridge came stays without events', () => {
    const history = aContext({ history: { backfill: 'open' } });
    const silent = decideNextRecord(undefined, NOW, history);
    if (silent === undefined) throw new Error('nothing was recorded');

    const { record } = restoreRecord({ ...silent, failures_count: 9 }, NOW, true);

    expect(record).toEqual(silent);
  });
});

test('a record that is in order is left alone, whatever the upstream says', () => {
  const readings = fc.array(
    fc.record({
      status: fc.constantFrom('scheduling', 'running', 'failed', 'finished', 'cancelled'),
      failures_count: fc.nat(3),
      updated_at: fc.integer({ min: 10, max: 59 }).map((second) => `2026-01-15T12:00:${second}Z`),
    }),
    { minLength: 1, maxLength: 50 },
  );

  fc.assert(
    fc.property(readings, (states) => {
      const record = states.reduce<OperationRecord | undefined>((before, state) => {
        const next = decideNextRecord(before, anOperation(state), aContext());
        return next === undefined ? before : { ...next, published: next.revision };
      }, undefined);

      const intact = record && restoreRecord(record, NOW, false);
      expect(intact).toEqual({ record: undefined, lostSequences: [] });
    }),
  );
});

test('of a regular chain any one event that is deleted comes back with its id, or is reported as lost', () => {
  const steps = fc.array(fc.constantFrom('running', 'scheduling', 'failed', 'finished'), {
    minLength: 2,
    maxLength: 30,
  });

  fc.assert(
    fc.property(steps, fc.nat(), (statuses, pick) => {
      let failures_count = 0;
      const record = statuses.reduce<OperationRecord | undefined>((before, status, index) => {
        if (status === 'failed') failures_count += 1;
        const updated_at = `2026-01-15T12:00:${10 + index}Z`;
        const next = decideNextRecord(
          before,
          anOperation({ status, failures_count, updated_at }),
          aContext(),
        );
        return next === undefined ? before : { ...next, published: next.revision };
      }, undefined);
      if (record === undefined) return;
      const sequence = 1 + (pick % record.sequence);

      const { record: restored, lostSequences } = restoreRecord(without(record, sequence), NOW, false);

      const idOf = (kept: OperationRecord | undefined) =>
        (kept?.entries as readonly StateChangedEntry[] | undefined)?.find(
          (entry) => entry.sequence === sequence,
        )?.id;
      if (lostSequences.length === 0) expect(idOf(restored)).toBe(idOf(record));
      else expect(restored).toBeUndefined();
    }),
  );
});
