import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideReadiness,
  joinCreation,
  startedWith,
  unknownOperations,
} from '../../shared/records/derivations.ts';
import type { BranchRecord } from '../../shared/records/journal-record.ts';
import {
  decideWatchEnd,
  type Operation,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';

import { anOperation, aRecord, NOON_MS } from '../builders.ts';

const CREATED = { created_at: '2026-01-15T11:59:50Z', updated_at: '2026-01-15T11:59:54Z' };

const creation = (fields: Partial<Operation> = {}, started_with: readonly string[] = []) => ({
  ...aRecord({ id: 'create', action: 'create_branch', endpoint_id: undefined, ...CREATED, ...fields }),
  started_with,
});
const start = (fields: Partial<Operation> = {}) =>
  aRecord({ id: 'start', action: 'start_compute', ...CREATED, ...fields });

const byId = (operations: readonly OperationRecord[]) =>
  new Map(operations.map((operation) => [operation.operation_id, operation]));

/** Decides as the protocol does when all these operations are known. */
function decide(operations: readonly OperationRecord[], recorded?: BranchRecord): BranchRecord | undefined {
  const joined = joinCreation(recorded, operations);
  return joined && decideReadiness(joined, byId(operations), NOON_MS);
}

const typesOf = (branch: BranchRecord | undefined) => branch?.entries.map(({ type }) => type);

describe('a new branch', () => {
  test('is ready when its creation and the start of its compute have finished', () => {
    const branch = decide([creation({ status: 'finished' }), start({ status: 'finished' })]);

    expect(branch).toMatchObject({ readiness: 'ready', operation_ids: ['create', 'start'] });
    expect(branch?.entries).toEqual([
      {
        type: 'branch_ready',
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        revision: 1,
        observed_at: new Date(NOON_MS).toISOString(),
        operations: [
          { operation_id: 'create', action: 'create_branch', status: 'finished', failures_count: 0 },
          { operation_id: 'start', action: 'start_compute', status: 'finished', failures_count: 0 },
        ],
        endpoint_ids: [start().endpoint_id],
        duration_ms: 4_000,
      },
    ]);
  });

  test('is ready without a compute when its creation has started none', () => {
    expect(decide([creation({ status: 'finished' })])?.entries).toMatchObject([
      { type: 'branch_ready', endpoint_ids: [] },
    ]);
  });

  test.each(['running', 'scheduling', 'failed', 'a_status_of_tomorrow'])(
    'is pending while the start of its compute is %s',
    (status) => {
      const branch = decide([creation({ status: 'finished' }), start({ status })]);

      expect(branch).toMatchObject({ readiness: 'pending', entries: [] });
    },
  );

  test.each([
    ['its creation is skipped', creation({ status: 'skipped' })],
    ['its creation is cancelled', creation({ status: 'cancelled' })],
    ['its compute cannot be started', start({ status: 'error' })],
    ['its operation is no longer watched', decideWatchEnd(start(), { reason: 'vanished', nowMs: NOON_MS })],
  ])('fails as soon as %s', (_why, ended) => {
    const others = [creation(), start()].filter(({ operation_id }) => operation_id !== ended.operation_id);

    const branch = decide([ended, ...others]);

    expect(typesOf(branch)).toEqual(['branch_failed']);
    expect(branch).toMatchObject({ readiness: 'failed' });
  });

  test('that fails names the operations that are known, and none that has not been read', () => {
    const branch = decide([creation({ status: 'error' }, ['start'])]);

    expect(branch?.entries).toMatchObject([
      { type: 'branch_failed', operations: [{ operation_id: 'create', status: 'error' }] },
    ]);
    expect(branch?.entries[0]?.operations).toHaveLength(1);
  });

  test('has taken from the start of its creation to the last end of its operations', () => {
    const slow = start({ status: 'finished', updated_at: '2026-01-15T12:00:20Z' });

    expect(decide([creation({ status: 'finished' }), slow])?.entries).toMatchObject([
      { duration_ms: 30_000 },
    ]);
  });

  test('was created by the earliest of several creations, in whichever order they are given', () => {
    const again = creation({ id: 'again', created_at: '2026-01-15T12:30:00Z' });

    expect(decide([again, creation()])).toMatchObject({ created_by: 'create', operation_ids: ['create'] });
    expect(decide([creation(), again])).toMatchObject({ created_by: 'create', operation_ids: ['create'] });
  });

  test('has an event of its own id: the id is the same when it is decided again, and differs by branch and kind', () => {
    const ended = creation({ status: 'finished' });
    const idsOf = (operation: OperationRecord) => decide([operation])?.entries.map(({ id }) => id) ?? [];
    const others = [
      { ...ended, account_id: 'another' },
      { ...ended, project_id: 'other-pond-12345678' },
      { ...ended, branch_id: 'br-other-pond-a1234567' },
      { ...ended, operation_id: 'another' },
      creation({ status: 'error' }),
    ];

    expect(idsOf(ended)).toEqual(idsOf(ended));
    expect(new Set([ended, ...others].flatMap(idsOf)).size).toBe(6);
  });

  test('is ready when the start of its compute did not have to run', () => {
    const branch = decide([creation({ status: 'finished' }), start({ status: 'skipped' })]);

    expect(typesOf(branch)).toEqual(['branch_ready']);
  });

  test('that has failed becomes ready when the operation ends well after all', () => {
    const failed = decide([creation({ status: 'error' })]);
    const ready = decide([creation({ status: 'finished' })], failed);

    expect(typesOf(ready)).toEqual(['branch_failed', 'branch_ready']);
  });

  test('that is ready stays ready, whatever its operations do afterwards', () => {
    const ready = decide([creation({ status: 'finished' })]);

    expect(decide([creation({ status: 'cancelled' })], ready)).toBe(ready);
    expect(decide([creation({ id: 'restore', status: 'finished' })], ready)).toBe(ready);
  });

  test('is ready when an operation of its creation has ended well and was reopened, whatever became of it then', () => {
    const reopened = (...later: readonly Partial<Operation>[]) => ({
      ...aRecord(
        ...[{ status: 'finished' }, { status: 'running' }, ...later].map((fields) => ({
          ...CREATED,
          id: 'create',
          action: 'create_branch',
          ...fields,
        })),
      ),
      started_with: [],
    });

    expect(typesOf(decide([reopened()]))).toEqual(['branch_ready']);
    expect(typesOf(decide([reopened({ status: 'error' })]))).toEqual(['branch_ready']);
  });

  test('fails with an operation of its creation that has ended badly and is retried', () => {
    const retried = aRecord(
      { id: 'start', action: 'start_compute', ...CREATED, status: 'error' },
      { id: 'start', action: 'start_compute', ...CREATED, status: 'running' },
    );

    expect(decide([creation({ status: 'finished' }), retried])?.entries).toMatchObject([
      { type: 'branch_failed', operations: [{ status: 'finished' }, { status: 'error' }] },
    ]);
  });

  test('names the command that created it', () => {
    const command = { client_id: 'deployer', request_id: 'a-request' };

    expect(decide([{ ...creation({ status: 'finished' }), command }])).toMatchObject({ command });
  });
});

describe('the operations that are started with a creation', () => {
  const row = (fields: Partial<Operation>) => anOperation({ ...CREATED, ...fields });
  const created = row({ id: 'create', action: 'create_branch' });

  test('are those of its branch that were created within a second', () => {
    const rows = [
      row({ id: 'start', action: 'start_compute', created_at: '2026-01-15T11:59:51Z' }),
      row({ id: 'later', created_at: '2026-01-15T11:59:52Z' }),
      row({ id: 'elsewhere', branch_id: 'br-another' }),
      created,
    ];

    expect(startedWith(created, rows)).toEqual(['start']);
  });

  test('also begin the default branch of a new project, which create_timeline creates', () => {
    expect(startedWith({ ...created, action: 'create_timeline' }, [created])).toEqual([]);
  });

  test('show a restore when they suspend a compute, and the branch is not new', () => {
    expect(startedWith(created, [row({ id: 'suspend', action: 'suspend_compute' })])).toBeUndefined();
  });

  test('show a restore when the branch has had an operation before', () => {
    const before = row({ id: 'before', created_at: '2026-01-15T11:00:00Z' });

    expect(startedWith(created, [before])).toBeUndefined();
    expect(startedWith(created, [{ ...before, branch_id: 'br-another' }])).toEqual([]);
  });

  test('are not known when the creation is of no branch', () => {
    expect(startedWith({ ...created, branch_id: undefined }, [])).toBeUndefined();
  });

  test('belong to no other action', () => {
    expect(startedWith({ ...created, action: 'start_compute' }, [])).toBeUndefined();
  });
});

describe('the operations of a creation', () => {
  test('were created with it; a later operation of the branch is none of them', () => {
    const later = start({ id: 'later', created_at: '2026-01-15T11:59:52Z', status: 'running' });
    const branch = decide([creation({ status: 'finished' }), later]);

    expect(branch).toMatchObject({ readiness: 'ready', operation_ids: ['create'] });
  });

  test('can be met one after the other', () => {
    const pending = decide([creation()]);
    const joined = decide([creation(), start()], pending);

    expect(joined?.operation_ids).toEqual(['create', 'start']);
  });

  test('need no reading once they have ended, and are read while they have not', () => {
    const operations = [creation(), start({ status: 'finished' })];
    const branch = decide(operations);

    expect(branch && unknownOperations(branch, byId(operations))).toEqual(['create']);
    expect(branch && unknownOperations(branch, new Map())).toEqual(['create', 'start']);
  });

  test('need no reading any more once the branch is ready', () => {
    const ready = decide([creation({ status: 'finished' })]);

    expect(ready && unknownOperations(ready, new Map())).toEqual([]);
  });

  test('are those that its record names, also while they are not recorded themselves', () => {
    const alone = creation({ status: 'finished' }, ['start']);
    const pending = decide([alone]);

    expect(pending).toMatchObject({ readiness: 'pending', operation_ids: ['create', 'start'] });
    expect(pending && unknownOperations(pending, byId([alone]))).toEqual(['start']);
  });

  test('without a creation among them say nothing of the branch', () => {
    expect(decide([start({ status: 'finished' })])).toBeUndefined();
  });
});

test('in whichever order its operations end, a branch has at most one event of each kind, and ready is the last', () => {
  const status = fc.constantFrom('running', 'failed', 'finished', 'skipped', 'cancelled', 'error');
  const steps = fc.array(fc.record({ id: fc.constantFrom('create', 'start'), status }), { maxLength: 12 });
  fc.assert(
    fc.property(steps, (changes) => {
      const now = new Map([creation(), start()].map((operation) => [operation.operation_id, operation]));
      let branch = decide([...now.values()]);
      for (const change of changes) {
        const { operation_id, action, endpoint_id } = now.get(change.id) ?? creation();
        now.set(
          change.id,
          aRecord({ ...CREATED, id: operation_id, action, endpoint_id, status: change.status }),
        );
        branch = decide([...now.values()], branch);
      }
      const types = typesOf(branch) ?? [];
      expect(new Set(types).size).toBe(types.length);
      expect(types.indexOf('branch_ready')).toBe(types.includes('branch_ready') ? types.length - 1 : -1);
    }),
  );
});
