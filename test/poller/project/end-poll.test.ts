/** Tests which ends of a poll let the next one go without a read of the table. */

import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../../functions/poller/project/memory/project-memory.ts';
import { mustReadStore, QUIET_MS_MAX } from '../../../functions/poller/project/memory/quiet-project.ts';
import { endPoll } from '../../../functions/poller/project/quiet-poll.ts';
import { startWalk } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { aRecord, NOON_MS } from '../../builders.ts';

const AT = '2026-01-15T11:00:00.000000000Z' as Timestamp;
const limits = { firstPageRows: 5, widePageRows: 10, pagesMax: 4, overlapMs: 60_000 };
const COMPLETE: WalkState = {
  ...startWalk({ bound: undefined, resume: undefined }, limits),
  outcome: 'complete',
  head: AT,
  next: undefined,
};
const POINT = { head: AT, cursor: 'row-1' };

interface Poll {
  readonly project?: Partial<ProjectRecord>;
  readonly walk?: Partial<WalkState>;
  readonly failure?: UpstreamErrorKind;
  readonly records?: readonly OperationRecord[];
  readonly hasWork?: boolean;
  readonly hasWritten?: boolean;
  readonly unfinishedCount?: number;
}

/** Returns what is remembered after two polls of this kind, `pauseMs` apart. */
function afterTwoPolls(poll: Poll = {}, { pauseMs = 5_000, isStoreChanged = false } = {}) {
  const memory = emptyMemory();
  for (const beganMs of [NOON_MS, NOON_MS + pauseMs]) {
    const project: ProjectRecord = {
      kind: 'project',
      account_id: 'main',
      project_id: 'a',
      is_visible: true,
      revision: 1,
      published: 1,
      entries: [],
      watermark: AT,
      ...poll.project,
    };
    const stored = { project, commands: [], operations: new Map(), hasWork: poll.hasWork ?? false };
    if (isStoreChanged) mustReadStore(memory);
    endPoll(
      memory,
      { stored, quiet: undefined, beganMs },
      {
        walk: { state: { ...COMPLETE, ...poll.walk }, failure: poll.failure },
        hasWritten: poll.hasWritten ?? false,
        records: poll.records ?? [],
        unfinishedCount: poll.unfinishedCount ?? 0,
      },
    );
  }
  return memory.quiet;
}

const settled = { ...aRecord({ id: 'settled', status: 'finished' }), published: 1 };
const failed = { ...aRecord({ id: 'failed', status: 'failed' }), published: 1 };

describe('the next poll needs no read of the table', () => {
  test('when a poll has read the whole list and found nothing to do', () => {
    expect(afterTwoPolls()).toMatchObject({ project: { project_id: 'a' }, readAtMs: NOON_MS + 5_000 });
    expect(afterTwoPolls({ records: [settled] })?.operations.size).toBe(0);
  });

  test('when a failed operation waits for its retry, which is remembered with it', () => {
    expect([...(afterTwoPolls({ records: [failed, settled] })?.operations.keys() ?? [])]).toEqual(['failed']);
  });

  test('when the list is empty, so that there is no watermark', () => {
    const project = { watermark: undefined };

    expect(afterTwoPolls({ project, walk: { head: undefined } })).toBeDefined();
    expect(afterTwoPolls({ project })).toBeUndefined();
  });
});

describe('the next poll reads the table', () => {
  test.each<[string, Poll]>([
    ['a walk waits for its rest', { project: { resume: POINT } }],
    ['a sweep waits for its rest', { project: { sweep: { bound: AT, cursor: 'row-1' } } }],
    [
      'the project was read as far as a note says that a watermark corrects',
      { project: { recorded_until: AT } },
    ],
    ['the list is known as unordered', { project: { is_unordered: true } }],
    ['the project counts as unread', { project: { is_unread: true } }],
    ['an event of the project is not published', { project: { revision: 2 } }],
    ['the upstream did not answer', { failure: 'unavailable' }],
    ['the walk was interrupted', { walk: { outcome: 'interrupted' } }],
    ['the walk has met disorder', { walk: { isUnordered: true } }],
    ['the table had work for the project', { hasWork: true }],
    ['the poll has written something', { hasWritten: true }],
    ['something of it is unfinished', { unfinishedCount: 1 }],
    ['an operation runs', { records: [{ ...aRecord({ status: 'running' }), published: 1 }] }],
    ['a failed operation is not published', { records: [aRecord({ status: 'failed' })] }],
    ['an ended operation is not published', { records: [aRecord({ status: 'finished' })] }],
  ])('when %s', (_why, poll) => {
    expect(afterTwoPolls(poll)).toBeUndefined();
  });

  test('when another process has left something for the project', () => {
    expect(afterTwoPolls({}, { isStoreChanged: true })).toBeUndefined();
  });

  test('when the project is polled too seldom for a memory', () => {
    expect(afterTwoPolls({}, { pauseMs: QUIET_MS_MAX - 1 })).toBeDefined();
    expect(afterTwoPolls({}, { pauseMs: QUIET_MS_MAX })).toBeUndefined();
    // The clock may have been set back.
    expect(afterTwoPolls({}, { pauseMs: -QUIET_MS_MAX })).toBeUndefined();
  });
});
