import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideComputeStates } from '../../shared/records/compute-state.ts';
import type { ComputeRecord } from '../../shared/records/journal-record.ts';
import type { Operation, OperationRecord } from '../../shared/records/operation-record.ts';
import { aRecord, NOON_MS } from '../builders.ts';

const timeAt = (second: number) => new Date(NOON_MS + second * 1_000).toISOString().replace('.000', '');

/** Builds an operation that was created and ended at these seconds after noon. */
const ended = (
  id: string,
  action: string,
  [created, updated]: readonly [number, number],
  rest: Partial<Operation> = {},
) =>
  aRecord({
    id,
    action: `${action}_compute`,
    status: 'finished',
    created_at: timeAt(created),
    updated_at: timeAt(updated),
    ...rest,
  });

const configured = (id: string, times: readonly [number, number]) =>
  ended(id, '', times, { action: 'apply_config' });

function decide(
  recorded: ComputeRecord | undefined,
  ...operations: readonly OperationRecord[]
): ComputeRecord | undefined {
  return decideComputeStates(recorded, operations, operations, NOON_MS);
}

const chainOf = (record: ComputeRecord | undefined) =>
  record?.entries.map(({ previous_state, state }) => `${previous_state} -> ${state}`);

describe('the state of a compute', () => {
  test('is active once a start has finished, and idle once a suspend has', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const idle = decide(active, ended('b', 'suspend', [300, 302]));

    expect(chainOf(idle)).toEqual(['null -> active', 'active -> idle']);
    expect(idle).toMatchObject({ state: 'idle', sequence: 2, state_since: timeAt(302) });
    expect(idle?.entries[1]).toEqual({
      type: 'compute_state_changed',
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      revision: 2,
      observed_at: new Date(NOON_MS).toISOString(),
      sequence: 2,
      state: 'idle',
      previous_state: 'active',
      previous_duration_ms: 300_000,
      reason: 'inactivity',
      operation_id: 'b',
      action: 'suspend_compute',
      branch_id: ended('b', 'suspend', [300, 302]).branch_id,
      operation_updated_at: timeAt(302),
      command: undefined,
    });
  });

  test.each(['skipped', 'cancelled', 'error', 'failed', 'running'])(
    'stays as it was when a start is %s',
    (status) => {
      expect(decide(undefined, ended('a', 'start', [0, 2], { status }))).toBeUndefined();
    },
  );

  test('changes by the time of creation, in whichever order the operations are given', () => {
    const start = ended('a', 'start', [0, 2]);
    const suspend = ended('b', 'suspend', [300, 302]);

    expect(chainOf(decide(undefined, suspend, start))).toEqual(chainOf(decide(undefined, start, suspend)));
  });

  test('is changed by one operation only once', () => {
    const start = ended('a', 'start', [0, 2]);
    const once = decide(undefined, start);
    const later = decide(once, ended('b', 'suspend', [300, 302]));

    expect(decide(once, start)).toBe(once);
    expect(decide(later, start)).toBe(later);
  });

  test('is not changed by an operation that is older than the one behind it', () => {
    const idle = decide(undefined, ended('b', 'suspend', [300, 302]));

    expect(decide(idle, ended('a', 'start', [0, 2]))).toBe(idle);
  });

  test('is changed by an operation that was created earlier and ended later', () => {
    const active = decide(undefined, ended('b', 'start', [10, 12]));

    expect(chainOf(decide(active, ended('a', 'suspend', [0, 60])))).toEqual([
      'null -> active',
      'active -> idle',
    ]);
  });

  test('is not changed by an operation that was created later and ended earlier, in whichever order they are read', () => {
    const slow = ended('a', 'suspend', [1, 10]);
    const quick = ended('b', 'start', [3, 4]);

    expect(decide(decide(undefined, slow), quick)).toMatchObject({ state: 'idle', sequence: 1 });
    expect(decide(decide(undefined, quick), slow)).toMatchObject({ state: 'idle', sequence: 2 });
  });

  test('does not believe that an operation has ended before it was created', () => {
    const active = decide(undefined, ended('a', 'start', [0, 12]));

    expect(chainOf(decide(active, ended('b', 'suspend', [13, 5])))).toEqual([
      'null -> active',
      'active -> idle',
    ]);
  });

  test('has a gap where a change was missed', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const again = decide(active, ended('c', 'start', [600, 602]));

    expect(again?.entries[1]).toMatchObject({ previous_state: null, state: 'active', sequence: 2 });
    expect(again?.entries[1]).not.toHaveProperty('previous_duration_ms');
  });

  test('is changed by the first of two operations of one second that bring the same state, and has a gap at the other', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const after = decide(active, ended('b', 'suspend', [60, 61]), ended('c', 'suspend', [60, 61]));

    expect(after?.entries.map(({ operation_id }) => operation_id)).toEqual(['a', 'b', 'c']);
  });

  test('has its gap before the change of a later second, also when both are given at once', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const after = decide(active, ended('b', 'start', [60, 62]), ended('c', 'suspend', [300, 302]));

    expect(chainOf(after)).toEqual(['null -> active', 'null -> active', 'active -> idle']);
  });

  test('is not changed by an operation of no compute', () => {
    expect(decide(undefined, ended('a', 'start', [0, 2], { endpoint_id: undefined }))).toBeUndefined();
  });

  test('is not changed by an operation that was created earlier and has ended in the same second', () => {
    const active = decide(undefined, ended('b', 'start', [10, 12]));

    expect(decide(active, ended('a', 'suspend', [0, 12]))).toBe(active);
  });

  test('is changed by an operation of the same second when nothing was missed before', () => {
    const idle = decide(undefined, ended('a', 'suspend', [0, 2]));

    expect(chainOf(decide(idle, ended('b', 'start', [0, 2])))).toEqual(['null -> idle', 'idle -> active']);
  });

  test('is changed by an operation of the same second when no event of the compute can be read', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const unread = active && { ...active, sequence: 2, entries: [] };

    expect(chainOf(decide(unread, ended('b', 'suspend', [0, 2])))).toEqual(['active -> idle']);
  });

  test('is changed by any operation when it was read and not derived, and then its duration is not known', () => {
    const active = decide(undefined, ended('b', 'start', [10, 12]));
    const read = active && { ...active, state_operation: undefined, state_since: undefined };
    const idle = decide(read, ended('a', 'suspend', [0, 2]));

    expect(idle?.entries.at(-1)).toMatchObject({ previous_state: 'active', state: 'idle' });
    expect(idle?.entries.at(-1)).not.toHaveProperty('previous_duration_ms');
  });

  test('goes on after a gap with the next operation', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const gap = decide(active, ended('c', 'start', [600, 602]));

    expect(chainOf(decide(gap, ended('d', 'suspend', [900, 902])))).toEqual([
      'null -> active',
      'null -> active',
      'active -> idle',
    ]);
  });

  test('keeps its latest gap, also when other changes have gone before', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]), ended('b', 'suspend', [300, 302]));
    const gap = decide(active, ended('d', 'suspend', [600, 602]));

    expect(decide(gap, ended('c', 'start', [600, 602]))).toBe(gap);
  });

  test('keeps its gap when the missed operation of the same second comes late', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));
    const gap = decide(active, ended('c', 'start', [600, 602]));

    expect(decide(gap, ended('b', 'suspend', [600, 602]))).toBe(gap);
  });

  test('is active for a moment when an idle compute takes a configuration', () => {
    const idle = decide(undefined, ended('a', 'suspend', [0, 2]));
    const after = decide(idle, ended('c', 'suspend', [60, 62]), configured('b', [60, 61]));

    expect(chainOf(after)).toEqual(['null -> idle', 'idle -> active', 'active -> idle']);
    expect(after?.entries.map(({ reason }) => reason)).toEqual(['inactivity', 'configured', undefined]);
  });

  test('is not changed by a configuration while it is active, or while it is not known', () => {
    const active = decide(undefined, ended('a', 'start', [0, 2]));

    expect(decide(active, configured('b', [60, 62]))).toBe(active);
    expect(decide(undefined, configured('b', [60, 62]))).toBeUndefined();
  });
});

describe('a restart', () => {
  const active = decide(undefined, ended('a', 'start', [0, 2]));
  const suspend = ended('b', 'suspend', [60, 61]);
  const start = ended('c', 'start', [60, 61]);

  test.each([
    ['suspend first', [suspend, start]],
    ['start first', [start, suspend]],
  ])('is idle and then active, also when rows show one second for all of it (%s)', (_order, operations) => {
    const after = decide(active, ...operations);

    expect(chainOf(after)).toEqual(['null -> active', 'active -> idle', 'idle -> active']);
    expect(after?.entries.map(({ reason }) => reason)).toEqual(['started', 'restarted', 'restarted']);
  });

  test('is none when another compute of the branch is suspended at the same time', () => {
    const other = ended('b', 'suspend', [60, 61], { endpoint_id: 'ep-other-pond-a1234567' });
    const after = decideComputeStates(undefined, [start], [start, other], NOON_MS);

    expect(after?.entries.map(({ reason }) => reason)).toEqual(['started']);
  });

  test('is recognized when its two ends are seen one after the other', () => {
    const open = { ...start, status: 'scheduling' };
    const idle = decideComputeStates(active, [suspend], [suspend, open], NOON_MS);
    const after = decide(idle, start);

    expect(after?.entries.map(({ reason }) => reason)).toEqual(['started', 'restarted', 'restarted']);
  });
});

test('a suspend by a command through the bridge is no inactivity', () => {
  const command = { client_id: 'an-app', request_id: 'a-request' };
  const idle = decide(undefined, { ...ended('a', 'suspend', [0, 2]), command });

  expect(idle?.entries).toMatchObject([{ reason: 'suspended', command }]);
});

test('however operations end and are repeated, sequences have no gap and each state before is the last one or unknown', () => {
  const operation = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    action: fc.constantFrom('start', 'suspend'),
    created: fc.nat(6),
    took: fc.nat(3),
  });
  fc.assert(
    fc.property(fc.array(fc.array(operation, { maxLength: 3 }), { maxLength: 8 }), (batches) => {
      let record: ComputeRecord | undefined;
      for (const batch of batches) {
        const operations = batch.map(({ id, action, created, took }) =>
          ended(id, action, [created, created + took]),
        );
        record = decide(record, ...operations);
      }
      const entries = record?.entries ?? [];
      entries.forEach(({ sequence, previous_state, operation_id }, place) => {
        expect(sequence).toBe(place + 1);
        expect([null, entries[place - 1]?.state]).toContain(previous_state);
        expect(entries.findIndex((other) => other.operation_id === operation_id)).toBe(place);
      });
    }),
  );
});

test('the state in the end is that of the operation that ended last, in whichever order operations that overlap are derived', () => {
  const operation = fc.record({
    action: fc.constantFrom('start', 'suspend'),
    created: fc.nat(9),
    took: fc.nat(9),
  });
  const newest = (times: { readonly created: number; readonly took: number }) =>
    1_000 * (times.created + times.took) + times.created;
  const operations = fc.uniqueArray(operation, { minLength: 1, maxLength: 6, selector: newest });
  fc.assert(
    fc.property(operations, fc.infiniteStream(fc.nat(5)), (drawn, places) => {
      const waiting = drawn.map((each, id) => ({ ...each, id: `${id}` }));
      const last = waiting.toSorted((a, b) => newest(b) - newest(a))[0];
      let record: ComputeRecord | undefined;
      while (waiting.length > 0) {
        const [{ id, action, created, took } = last ?? never()] = waiting.splice(
          places.next().value % waiting.length,
          1,
        );
        record = decide(record, ended(id, action, [created, created + took]));
      }
      expect(record?.state).toBe(last?.action === 'start' ? 'active' : 'idle');
    }),
  );
});

function never(): never {
  throw new Error('There is at least one operation');
}
