/** Consumers recognize copies of an event by its id: copies share it, and no two events do. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import { type CommandRecord, decideSettlement } from '../../shared/records/command-record.ts';
import { hashOf } from '../../shared/records/journal.ts';
import type { JournalEntry } from '../../shared/records/journal-entries.ts';
import {
  decideNextRecord,
  decideStall,
  decideWatchEnd,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { aContext, anOperation, aRecord, commandRecord, NOON_MS } from '../builders.ts';

const lastId = (record: { readonly entries: readonly JournalEntry[] } | undefined) =>
  record?.entries.at(-1)?.id;
const distinct = (ids: readonly (string | undefined)[]) => new Set(ids).size;

describe('the id of a Command Settled', () => {
  const settle = (fields: Partial<CommandRecord> = {}, ...operations: readonly OperationRecord[]) => {
    const command = { ...commandRecord('a-1', 'request-1'), operation_ids: ['a', 'b'], ...fields };
    const known = new Map(operations.map((record) => [record.operation_id, record]));
    return lastId(decideSettlement(command, known, command.deadline_at_ms));
  };
  const ended = (id: string, status = 'finished') => aRecord({ id, status });

  test('is the same for whichever process finds it, and differs by time', () => {
    const records = [ended('a'), ended('b')];

    expect(settle({}, ...records)).toBe(settle({}, ...records.toReversed()));
  });

  test('differs by account, project, request, outcome and what became of each operation', () => {
    const both = [ended('a'), ended('b')];

    expect(
      distinct([
        settle({}, ...both),
        settle({ account_id: 'other' }, ...both),
        settle({ project_id: 'b-1' }, ...both),
        settle({ request_id: 'request-2' }, ...both),
        settle({ revision: 1 }, ...both),
        settle({}, ended('a'), ended('b', 'error')),
        settle({}, ended('a', 'error'), ended('b')),
        settle({}, ended('a')),
        settle({}),
      ]),
    ).toBe(9);
  });
});

describe('the id of a State Changed', () => {
  const first = (fields: Parameters<typeof anOperation>[0] = {}, account_id = 'main') =>
    lastId(decideNextRecord(undefined, anOperation(fields), aContext({ account_id })));

  test('differs by the observer and the time, because copies of one event have all bytes in common', () => {
    const at = (context: Parameters<typeof aContext>[0]) =>
      lastId(decideNextRecord(undefined, anOperation(), aContext(context)));

    expect(at({})).toBe(first());
    expect(distinct([first(), at({ nowMs: 0 }), at({ observed_by: 'sweep' }), at({ late: true })])).toBe(4);
  });

  test('differs by account, project, operation, state and the time of the change', () => {
    expect(
      distinct([
        first(),
        first({}, 'other'),
        first({ project_id: 'b-1' }),
        first({ id: 'another' }),
        first({ status: 'failed' }),
        first({ failures_count: 1 }),
        first({ updated_at: '2026-01-15T11:59:52Z' }),
      ]),
    ).toBe(7);
  });

  test('differs for a state that comes again', () => {
    const record = aRecord(
      { status: 'failed', failures_count: 1 },
      { status: 'running', failures_count: 1 },
      {
        status: 'failed',
        failures_count: 1,
      },
    );

    expect(distinct(record.entries.map(({ id }) => id))).toBe(3);
  });
});

describe('the ids of entries other than changes of state', () => {
  const record = aRecord();

  test('differ by the reason of an end, and from those of other operations', () => {
    const other = aRecord({ id: 'another' });
    const end = (of: OperationRecord, reason: 'vanished' | 'not_retried') =>
      lastId(decideWatchEnd(of, { reason, nowMs: NOON_MS }));

    expect(
      distinct([
        end(record, 'vanished'),
        end(record, 'not_retried'),
        end(other, 'vanished'),
        end(aRecord({ status: 'failed' }), 'vanished'),
        lastId(record),
      ]),
    ).toBe(5);
    expect(lastId(decideWatchEnd(record, { reason: 'vanished', nowMs: 0 }))).not.toBe(
      end(record, 'vanished'),
    );
  });

  test('differ by the threshold of a stall, and by how long it has taken', () => {
    const stall = (threshold_ms: number, open_ms = 1) =>
      lastId(decideStall(record, { threshold_ms, open_ms, nowMs: NOON_MS }));

    expect(distinct([stall(1), stall(2), lastId(record)])).toBe(3);
    expect(stall(1, 99)).not.toBe(stall(1));
  });

  test('differ by the reason and the direction of a change of health, and by account', () => {
    const bootAt = '2026-01-15T11:00:00.000000000Z' as Timestamp;
    const account = firstAccountRecord('main', bootAt);
    const rejected = decideHealth(account, 'key_rejected', NOON_MS);
    const again = rejected && decideHealth(rejected, undefined, NOON_MS);

    expect(
      distinct([
        lastId(rejected),
        lastId(decideHealth(account, 'upstream_failing', NOON_MS)),
        lastId(decideHealth(firstAccountRecord('other', bootAt), 'key_rejected', NOON_MS)),
        lastId(again),
        lastId(again && decideHealth(again, 'key_rejected', NOON_MS)),
      ]),
    ).toBe(5);
  });
});

test('ids are short hexadecimal texts, and parts that run into each other do not share one', () => {
  const part = fc.oneof(fc.string(), fc.integer(), fc.constant(null));
  fc.assert(
    fc.property(fc.array(part), fc.array(part), (one, other) => {
      expect(hashOf(one)).toMatch(/^[0-9a-f]{32}$/);
      expect(hashOf(one) === hashOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
  );
});
