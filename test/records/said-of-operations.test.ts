/**
 * Tests what entries say beside the state. Consumers read it, and the ids of entries must never change between
 * versions.
 */

import { describe, expect, test } from 'vitest';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import { decideSettlement } from '../../shared/records/command-record.ts';
import { planAcknowledgement, planBatches } from '../../shared/records/journal.ts';
import {
  decideNextRecord,
  decideStall,
  decideTransition,
  decideWatchEnd,
  type Operation,
} from '../../shared/records/operation-record.ts';
import {
  decideDiscovery,
  decideUnreachable,
  HISTORY_AFTER_MS,
  RETENTION_MS,
} from '../../shared/records/project-record.ts';
import { DAY_MS, type Timestamp } from '../../shared/records/time.ts';
import { aContext, anOperation, aRecord, commandRecord, NOON_MS } from '../builders.ts';

const BOOT_AT = '2026-01-15T11:00:00.000000000Z' as Timestamp;
const OBSERVED_AT = '2026-01-15T12:00:00.000Z';

describe('a State Changed', () => {
  const entryOf = (fields: Parameters<typeof anOperation>[0], context: Parameters<typeof aContext>[0] = {}) =>
    decideNextRecord(undefined, anOperation(fields), aContext(context))?.entries[0];

  test('carries what the reading says beside its state', () => {
    expect(entryOf({ total_duration_ms: 12.5, error: 'it broke' })).toMatchObject({
      total_duration_ms: 12.5,
      error: 'it broke',
    });
    expect(entryOf({})).toMatchObject({ total_duration_ms: undefined, error: undefined });
  });

  test('is late only where its context says so', () => {
    expect(entryOf({}, { late: true })).toMatchObject({ late: true });
    expect(entryOf({}, { late: false })).toMatchObject({ late: undefined });
    expect(entryOf({})).toMatchObject({ late: undefined });
  });

  test('is irregular only where a state cannot follow the other one', () => {
    const secondOf = (from: Partial<Operation>, to: Partial<Operation>) => aRecord(from, to).entries.at(-1);

    expect(secondOf({ status: 'finished' }, { status: 'running' })).toMatchObject({ irregular: true });
    expect(secondOf({ status: 'scheduling' }, { status: 'running' })).toMatchObject({ irregular: undefined });
  });

  test.each([
    ['finished', true],
    ['cancelled', true],
    ['error', true],
    ['failed', undefined],
    ['running', undefined],
  ])('to %s after a stall says of the end alone that the operation had stalled', (status, was_stalled) => {
    const stall = { threshold_ms: 600, open_ms: 700, nowMs: NOON_MS };
    const before = aRecord({ status: 'scheduling' });
    const entryAfter = (recorded: typeof before) =>
      decideNextRecord(recorded, anOperation({ status }), aContext())?.entries.at(-1);

    expect(entryAfter(decideStall(before, stall))).toMatchObject({ status, was_stalled });
    expect(entryAfter(before)).toMatchObject({ status, was_stalled: undefined });
  });

  test('of a known operation is made also where history is silent', () => {
    const known = aRecord({ status: 'running' });
    const history = { backfill: 'none' } as const;
    const next = decideNextRecord(known, anOperation({ status: 'finished' }), aContext({ history }));

    expect(next).toMatchObject({ revision: 2, sequence: 2, entries: [{}, { status: 'finished' }] });
  });
});

test.each([
  ['running', 'scheduling', 0, true],
  ['running', 'scheduling', 1, false],
  ['cancelling', 'scheduling', 0, true],
  ['failed', 'scheduling', 0, false],
])('from %s to %s with %i more failures is irregular: %s', (from, to, failures_count, irregular) => {
  const recorded = { status: from, failures_count: 0 };

  expect(decideTransition(recorded, { status: to, failures_count })?.irregular).toBe(irregular);
});

describe('entries other than changes of state', () => {
  const record = aRecord();

  test('of the end of a watch is why, and in which state', () => {
    expect(decideWatchEnd(record, { reason: 'not_retried', nowMs: NOON_MS })).toMatchObject({
      watch_ended: true,
      revision: 2,
      entries: [
        {},
        {
          type: 'watch_ended',
          revision: 2,
          observed_at: OBSERVED_AT,
          reason: 'not_retried',
          status: 'running',
          failures_count: 0,
        },
      ],
    });
  });

  test('of a stall is how long it has taken, and which threshold was passed', () => {
    expect(decideStall(record, { threshold_ms: 600, open_ms: 700, nowMs: NOON_MS })).toMatchObject({
      stalled_threshold_ms: 600,
      revision: 2,
      entries: [
        {},
        {
          type: 'operation_stalled',
          revision: 2,
          observed_at: OBSERVED_AT,
          status: 'running',
          failures_count: 0,
          open_ms: 700,
          threshold_ms: 600,
        },
      ],
    });
  });

  test('of an account is that it is degraded and that it has recovered, once each, with the reason', () => {
    const fresh = firstAccountRecord('main', BOOT_AT);
    expect(fresh).toEqual({
      kind: 'account',
      account_id: 'main',
      boot_at: BOOT_AT,
      is_listed: false,
      revision: 0,
      published: 0,
      entries: [],
    });
    const degraded = decideHealth(fresh, 'key_rejected', NOON_MS);
    const recovered = degraded && decideHealth(degraded, undefined, NOON_MS);

    expect(degraded).toMatchObject({
      degraded_reason: 'key_rejected',
      revision: 1,
      entries: [{ type: 'account_degraded', reason: 'key_rejected', revision: 1, observed_at: OBSERVED_AT }],
    });
    expect(recovered).toMatchObject({
      degraded_reason: undefined,
      revision: 2,
      entries: [{}, { type: 'account_recovered', reason: 'key_rejected', revision: 2 }],
    });
    expect(decideHealth(fresh, undefined, NOON_MS)).toBeUndefined();
    expect(degraded && decideHealth(degraded, 'key_rejected', NOON_MS)).toBeUndefined();
  });
});

/** The third edition writes entries with these ids. Entries of earlier ones keep the ids that they were stored with. */
const GOLDEN = [
  '314e7a43e25d79388461198774055d04',
  '20961c467c9acae9f719f6b032dbc9fa',
  '6e9fdf9ab57fab96acd3c87e91815b7e',
  '63d5bae23c47baa0d8aedd2cc328cae7',
  '8fe85ddbcf4af06e304a34e4d27cf1fa',
  'cd57602005f909f7b3279d450b6b3d69',
  'd32f0c21c4ff47396166f99883482dad',
  '544a48c35767532e1ccbd25801d3b8d0',
];

test('the id of an event depends on nothing but its bytes, so a change of the recipe is noticed', () => {
  const record = aRecord();
  const account = firstAccountRecord('main', BOOT_AT);
  const degraded = decideHealth(account, 'key_rejected', NOON_MS);
  const sighting = { account_id: 'main', project_id: 'a-1', nowMs: NOON_MS, isNews: true };
  const discovered = decideDiscovery(undefined, sighting);
  const command = { ...commandRecord('a-1', 'request-1'), operation_ids: [record.operation_id] };
  const ids = [
    record,
    decideWatchEnd(record, { reason: 'vanished', nowMs: NOON_MS }),
    decideStall(record, { threshold_ms: 600_000, open_ms: 700_000, nowMs: NOON_MS }),
    degraded,
    degraded && decideHealth(degraded, undefined, NOON_MS),
    discovered,
    discovered && decideUnreachable(discovered, NOON_MS),
    decideSettlement(command, new Map([[record.operation_id, record]]), command.deadline_at_ms),
  ].map((each) => each?.entries.at(-1)?.id);

  expect(ids).toEqual(GOLDEN);
});

test('history begins ten days before the table may forget, because two clocks differ', () => {
  expect(RETENTION_MS - HISTORY_AFTER_MS).toBe(10 * DAY_MS);
});

describe('calls of the bus', () => {
  const sized = (...sizes: readonly number[]) => sizes.map((sizeBytes) => ({ sizeBytes }));
  const lengths = (...sizes: readonly number[]) => planBatches(sized(...sizes)).map(({ length }) => length);

  test('are as few as the limits allow', () => {
    expect(lengths(...Array.from({ length: 10 }, () => 1))).toEqual([10]);
    expect(lengths(...Array.from({ length: 11 }, () => 1))).toEqual([10, 1]);
    expect(lengths(100_000, 100_000)).toEqual([2]);
    expect(lengths(100_000, 100_001)).toEqual([1, 1]);
    expect(lengths(100_000, 50_000, 50_000, 1)).toEqual([3, 1]);
    expect(lengths(150_000, 100_000, 100_000)).toEqual([1, 2]);
    expect(lengths()).toEqual([]);
  });

  test('name what is set aside, with the code of its refusal', () => {
    const entry = aRecord().entries[0];
    if (entry === undefined) throw new Error('there is one');

    expect(planAcknowledgement([{ entry, outcome: { kind: 'refused', code: 'EntryTooLarge' } }])).toEqual({
      park: [{ entry, code: 'EntryTooLarge' }],
      through: 1,
    });
  });
});
