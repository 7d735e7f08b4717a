import { describe, expect, test } from 'vitest';
import { knownEnds, pendingEnds } from '../../shared/records/derivations.ts';
import type { OperationEntry } from '../../shared/records/journal-entries.ts';
import { decideStall, decideWatchEnd, type OperationRecord } from '../../shared/records/operation-record.ts';
import { aRecord, NOON_MS } from '../builders.ts';

const statusesOf = (operations: readonly OperationRecord[]) => operations.map(({ status }) => status);

const reopened = aRecord(
  { status: 'running' },
  { status: 'error', updated_at: '2026-01-15T12:00:10Z' },
  { status: 'running', updated_at: '2026-01-15T12:00:20Z' },
);

describe('the ends of an operation', () => {
  test('are its present one, as the record stands', () => {
    const finished = aRecord({ status: 'running' }, { status: 'finished' });

    expect(knownEnds(finished)).toEqual([finished]);
    expect(pendingEnds(finished)).toEqual([finished]);
  });

  test('are none while it is open, however long it takes', () => {
    const open = aRecord({ status: 'running' });
    const stalled = decideStall(open, { threshold_ms: 60_000, open_ms: 61_000, nowMs: NOON_MS });

    expect([open, stalled].flatMap(knownEnds)).toEqual([]);
    expect([open, stalled].flatMap(pendingEnds)).toEqual([]);
  });

  test('hold one that it has left, with the state and the times of then', () => {
    expect(pendingEnds(reopened)).toMatchObject([
      { status: 'error', watch_ended: false, revision: 2, updated_at: '2026-01-15T12:00:10Z' },
    ]);
    expect(pendingEnds(reopened)[0]?.entries).toHaveLength(2);
  });

  test('are all of them when it has ended again, the oldest first', () => {
    const again = aRecord({ status: 'error' }, { status: 'running' }, { status: 'finished' });

    expect(statusesOf(knownEnds(again))).toEqual(['error', 'finished']);
    expect(statusesOf(pendingEnds(again))).toEqual(['error', 'finished']);
    expect(statusesOf(pendingEnds({ ...again, published: 1 }))).toEqual(['finished']);
  });

  test('hold each end once, also when the operation was open at first', () => {
    const again = aRecord(
      { status: 'running' },
      { status: 'finished' },
      { status: 'running' },
      { status: 'error' },
    );

    expect(statusesOf(knownEnds(again))).toEqual(['finished', 'error']);
    expect(statusesOf(pendingEnds(again))).toEqual(['finished', 'error']);
  });

  test('are as they were recorded, although this version cannot read a later change', () => {
    const [running, error] = reopened.entries as [OperationEntry, OperationEntry];
    const unread = { ...reopened, entries: [running, error], foreign: [{ revision: 3, stored: {} }] };

    expect(statusesOf(knownEnds(unread))).toEqual(['error']);
    expect(statusesOf(pendingEnds(unread))).toEqual(['error']);
  });

  test('hold the end of a watch of which nothing else became an event', () => {
    const silent = { ...aRecord({ status: 'failed' }), entries: [], revision: 0, published: 0 };
    const ended = decideWatchEnd(silent, { reason: 'not_retried', nowMs: NOON_MS });

    expect(pendingEnds(ended)).toEqual([ended]);
  });

  test('hold the end of its watch, also when it was retried after that', () => {
    const failed = aRecord({ status: 'failed' });
    const ended = decideWatchEnd(failed, { reason: 'not_retried', nowMs: NOON_MS });
    const retried = { ...ended, watch_ended: false, status: 'running' };
    const entry = { ...failed.entries[0], revision: 3, status: 'running' } as (typeof failed.entries)[number];

    expect(pendingEnds(ended)).toEqual([ended]);
    expect(pendingEnds({ ...retried, revision: 3, entries: [...ended.entries, entry] })).toMatchObject([
      { status: 'failed', watch_ended: true, revision: 2 },
    ]);
  });

  test('are known, and no news, when it had ended before the bridge first saw its project', () => {
    const [first, ...rest] = reopened.entries.slice(1);
    const history = { ...first, observed_by: 'backfill' } as (typeof reopened.entries)[number];
    const record = { ...reopened, entries: [history, ...rest] };

    expect(statusesOf(knownEnds(record))).toEqual(['error']);
    expect(pendingEnds(record)).toEqual([]);
  });

  test('are known without an entry, because history is recorded without one', () => {
    const silent = { ...aRecord({ status: 'finished' }), entries: [], revision: 0, published: 0 };

    expect(knownEnds(silent)).toEqual([silent]);
    expect(pendingEnds(silent)).toEqual([]);
  });
});
