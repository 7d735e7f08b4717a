/** Tests what the page of an operation says: the upstream's times, the attempts, and the texts and links for people. */

import { describe, expect, test } from 'vitest';
import {
  attemptsOf,
  seenAfterMs,
  stateChanges,
  statusSince,
  supportText,
  upstreamPageOf,
} from '../../functions/api/console/pages/operation-view.ts';
import { upstreamPagePattern } from '../../shared/config/api-config.ts';
import { decideNextRecord, type OperationRecord } from '../../shared/records/operation-record.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';

type Reading = Parameters<typeof anOperation>[0] & { readonly seenAfterMs?: number };

const at = (second: number) => new Date(NOON_MS + second * 1_000).toISOString();

function aRecord(...readings: readonly Reading[]): OperationRecord {
  let record: OperationRecord | undefined;
  for (const { seenAfterMs: lagMs = 1_200, ...fields } of readings) {
    const operation = anOperation({ created_at: at(0), ...fields });
    const nowMs = Date.parse(operation.updated_at) + lagMs;
    record = decideNextRecord(record, operation, { ...aContext(), nowMs, requestedMs: nowMs }) ?? record;
  }
  if (record === undefined) throw new Error('A first reading is always recorded');
  return record;
}

const failing = aRecord(
  { status: 'running', updated_at: at(1) },
  { status: 'failed', failures_count: 1, updated_at: at(10), error: 'no capacity' },
  { status: 'failed', failures_count: 3, updated_at: at(70), error: 'still no capacity' },
);

describe('the status of an operation', () => {
  test("is as old as the upstream says, however late the bridge saw it, and repetitions don't renew it", () => {
    expect(statusSince(failing)).toBe(at(10));
    expect(statusSince(aRecord({ status: 'running', updated_at: at(1), seenAfterMs: 7_200_000 }))).toBe(
      at(1),
    );
  });

  test('was seen this much after the upstream changed it, and never before it', () => {
    const [first] = stateChanges(failing);
    expect(first && seenAfterMs(first)).toBe(1_200);
    expect(seenAfterMs({ observed_at: at(0), operation_updated_at: at(5) })).toBe(0);
  });
});

describe('the attempts of an operation', () => {
  test('are numbered, and those that failed between two readings stand together', () => {
    expect(attemptsOf(failing)).toEqual([
      { first: 1, last: 1, outcome: 'failed', at: at(10), error: 'no capacity' },
      { first: 2, last: 3, outcome: 'failed', at: at(70), error: 'still no capacity' },
    ]);
  });

  test.each([
    ['running', 'under way'],
    ['finished', 'ended'],
  ])('end with the present one when it is %s', (status, outcome) => {
    const record = aRecord(
      { status: 'failed', failures_count: 1, updated_at: at(10) },
      { status, failures_count: 1, updated_at: at(20) },
    );

    expect(attemptsOf(record).at(-1)).toMatchObject({ first: 2, last: 2, outcome, at: at(20) });
  });

  test('have no error where the present one has not failed, though the upstream still names the last error', () => {
    const record = aRecord(
      { status: 'failed', failures_count: 1, updated_at: at(10), error: 'no capacity' },
      { status: 'finished', failures_count: 1, updated_at: at(20), error: 'no capacity' },
    );

    expect(attemptsOf(record).map(({ error }) => error)).toEqual(['no capacity', undefined]);
  });

  test('end with the last failure when the operation was given up after it', () => {
    const record = aRecord(
      { status: 'failed', failures_count: 1, updated_at: at(10) },
      { status: 'error', failures_count: 1, updated_at: at(20) },
    );

    expect(attemptsOf(record).map(({ outcome }) => outcome)).toEqual(['failed']);
    expect(
      attemptsOf(aRecord({ status: 'error', updated_at: at(20) })).map(({ outcome }) => outcome),
    ).toEqual(['given up']);
  });
});

test("the text for support has ids, the upstream's times and the error, and no person", () => {
  const record = { ...failing, command: { client_id: 'mona@example.com', request_id: 'r' } };

  const text = supportText(record);

  expect(text).toContain(`operation: ${failing.operation_id}`);
  expect(text).toContain('error: still no capacity');
  expect(text).toContain(`  ${at(10)} failed, 1 failed`);
  expect(text).not.toContain('mona');
});

describe("the address in the upstream's own console", () => {
  const pattern = 'https://vendor.example/app/{project_id}/ops/{operation_id}';

  test('has the ids of the operation, escaped', () => {
    expect(upstreamPageOf({ ...failing, project_id: 'a/b' }, pattern)).toBe(
      `https://vendor.example/app/a%2Fb/ops/${failing.operation_id}`,
    );
  });

  test('is missing without a pattern, and when the operation lacks an id that it needs', () => {
    expect(upstreamPageOf(failing, undefined)).toBeUndefined();
    expect(
      upstreamPageOf({ ...failing, branch_id: undefined }, 'https://v.example/{branch_id}'),
    ).toBeUndefined();
  });

  test.each([
    'http://v.example/',
    'javascript:alert(1)',
    'https://v.example/{password}',
    'https://v.example/"x',
  ])('cannot be configured as %s', (text) => {
    expect(upstreamPagePattern.safeParse(text).success).toBe(false);
    expect(upstreamPagePattern.safeParse(pattern).success).toBe(true);
  });
});
