import { describe, expect, test } from 'vitest';
import {
  compareOperations,
  type SeenEvent,
  type TrackedOperation,
} from '../../infra/cli/examining/verify-project.ts';

const operation = { id: 'one', status: 'finished', failures_count: 0, created_at: '2026-01-15T12:00:00Z' };
const tracked = (sequence: number): TrackedOperation => ({ ...operation, sequence });

/** A chain from the first sequence to the last, which ends with the status of the operation. */
const chain = (from: number, to: number): readonly SeenEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    operation_id: 'one',
    sequence: from + index,
    previous_status: from + index === 1 ? null : 'failed',
    status: from + index === to ? 'finished' : 'failed',
  }));

const kinds = (sequence: number, events: readonly SeenEvent[]) =>
  compareOperations({ upstream: [operation], tracked: [tracked(sequence)], events }).map(
    ({ kind, found }) => `${kind}: ${found}`,
  );

describe('the chain of an operation', () => {
  test.each([
    ['complete', 3, chain(1, 3)],
    ['recorded silently, as history', 0, []],
    ['longer than a record keeps', 40, chain(9, 40)],
  ])('that is %s agrees', (_what, sequence, events) => {
    expect(kinds(sequence, events)).toEqual([]);
  });

  test.each([
    ['lacks its first event', 3, chain(1, 3).slice(1), /events 1 of 3 are missing/],
    ['lacks its last event', 3, chain(1, 3).slice(0, 2), /events 3 of 3 are missing/],
    [
      'is longer than a record keeps and has a gap',
      40,
      [...chain(9, 40).slice(0, 5), ...chain(9, 40).slice(6)],
      /events 14 of 40 are missing/,
    ],
    [
      'has an event that does not follow',
      2,
      chain(1, 2).map((event) => ({ ...event, previous_status: 'running' })),
      /event 2 does not follow/,
    ],
    [
      'ends with another status',
      1,
      [{ operation_id: 'one', sequence: 1, previous_status: null, status: 'running' }],
      /last event says running/,
    ],
  ])('that %s is reported', (_what, sequence, events, found) => {
    expect(kinds(sequence, events)).toEqual([expect.stringMatching(found)]);
  });
});

test('states that differ, missing operations and invented ones are told apart', () => {
  const other = { ...operation, id: 'two' };
  const view = {
    upstream: [{ ...operation, failures_count: 1 }, other],
    tracked: [tracked(0), { ...tracked(0), id: 'three' }],
    events: [],
  };

  expect(compareOperations(view).map(({ operation_id, kind }) => [operation_id, kind])).toEqual([
    ['one', 'different'],
    ['two', 'missing'],
    ['three', 'invented'],
  ]);
});
