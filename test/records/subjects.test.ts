import { describe, expect, test } from 'vitest';
import { subjectsOf } from '../../shared/records/derivations.ts';
import {
  decideNextRecord,
  decideStall,
  decideWatchEnd,
  type Operation,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../builders.ts';

const { project_id, branch_id, endpoint_id } = anOperation();
const BRANCH = { kind: 'branch', account_id: 'main', project_id, id: branch_id };
const COMPUTE = { kind: 'compute', account_id: 'main', project_id, id: endpoint_id };

function recordOf(reading: Partial<Operation>, context = {}): OperationRecord {
  const record = decideNextRecord(undefined, anOperation(reading), aContext(context));
  if (record === undefined) throw new Error('A first reading is always news');
  return record;
}

const subjectsFor = (reading: Partial<Operation>, context = {}) =>
  subjectsOf([recordOf(reading, context)]).map(({ operations: _operations, ...subject }) => subject);

describe('an operation with news', () => {
  test.each([
    ['creates a branch', { action: 'create_branch' }, [BRANCH]],
    ['creates the branch of a new project', { action: 'create_timeline' }, [BRANCH]],
    ['may join a creation', { action: 'start_compute' }, [BRANCH]],
    [
      'has ended, and may be the last of a creation',
      { action: 'check_availability', status: 'skipped' },
      [BRANCH],
    ],
    [
      'has brought its compute to a state',
      { action: 'start_compute', status: 'finished' },
      [BRANCH, COMPUTE],
    ],
    [
      'has failed, and so has brought its compute to none',
      { action: 'suspend_compute', status: 'failed' },
      [],
    ],
    ['is of no branch', { action: 'create_branch', branch_id: undefined }, []],
    ['is open and neither creates nor starts anything', { action: 'suspend_compute' }, []],
    ['is of no compute', { action: 'suspend_compute', status: 'finished', endpoint_id: undefined }, [BRANCH]],
  ])('concerns what it can change when it %s', (_name, reading, subjects) => {
    expect(subjectsFor(reading)).toEqual(subjects);
  });

  test('concerns nothing when it is history that had ended before it was seen', () => {
    const context = { observed_by: 'backfill' };

    expect(subjectsFor({ action: 'start_compute', status: 'finished' }, context)).toEqual([]);
    expect(subjectsFor({ action: 'start_compute', status: 'running' }, context)).toEqual([BRANCH]);
  });

  test('concerns nothing any more when its news is acknowledged', () => {
    const record = recordOf({ action: 'start_compute', status: 'finished' });

    expect(subjectsOf([{ ...record, published: record.revision }])).toEqual([]);
  });

  test('concerns what its end can change also when an earlier change is not acknowledged either', () => {
    const record = aRecord(
      { action: 'suspend_compute', status: 'running' },
      { action: 'suspend_compute', status: 'finished' },
    );

    expect(subjectsOf([record])).toMatchObject([BRANCH, COMPUTE]);
  });

  test('concerns its branch when it is no longer watched, because it may be the last of a creation', () => {
    const record = recordOf({ action: 'check_availability' });
    const vanished = decideWatchEnd(
      { ...record, published: record.revision },
      { reason: 'vanished', nowMs: NOON_MS },
    );

    expect(subjectsOf([vanished])).toMatchObject([BRANCH]);
  });

  test('concerns nothing when it had failed before it was seen, and was not retried since', () => {
    const context = { observed_by: 'backfill' };
    const failed = recordOf({ action: 'create_branch', status: 'failed' }, context);

    expect(subjectsOf([decideWatchEnd(failed, { reason: 'not_retried', nowMs: NOON_MS })])).toEqual([]);
  });

  test('concerns its branch when of all its changes only the end of its watch can be read', () => {
    const record = recordOf({ action: 'create_branch', status: 'failed' });
    const ended = decideWatchEnd(record, { reason: 'not_retried', nowMs: NOON_MS });
    const unread = { ...ended, published: 1, entries: ended.entries.slice(1) };

    expect(subjectsOf([unread])).toMatchObject([BRANCH]);
  });

  test('concerns nothing when the news is only that it takes long', () => {
    const record = recordOf({ action: 'create_branch' });
    const stall = { threshold_ms: 60_000, open_ms: 61_000, nowMs: NOON_MS };

    expect(subjectsOf([decideStall({ ...record, published: record.revision }, stall)])).toEqual([]);
  });

  test('shares its branch and its compute with those that concern the same', () => {
    const start = recordOf({ id: 'a', action: 'start_compute', status: 'finished' });
    const stop = recordOf({ id: 'b', action: 'suspend_compute', status: 'finished' });
    const elsewhere = recordOf({ id: 'c', action: 'create_branch', project_id: 'other-pond-12345678' });

    expect(subjectsOf([start, stop, elsewhere])).toEqual([
      { ...BRANCH, operations: [start, stop] },
      { ...BRANCH, project_id: 'other-pond-12345678', operations: [elsewhere] },
      { ...COMPUTE, operations: [start, stop] },
    ]);
  });
});
