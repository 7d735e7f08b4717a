/** Tests that `plainOperation` and the schema agree on every row that `plainOperation` takes. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operationSchema, plainOperation } from '../../shared/upstream/calls/schemas.ts';

const PROJECT_ID = 'bold-sound-12345678';
const schema = operationSchema(PROJECT_ID);

const usual = {
  id: 'a07f8772-1877-4da9-a939-3a3ae62d1d8d',
  project_id: PROJECT_ID,
  branch_id: 'br-dawn-scene-747675',
  endpoint_id: 'ep-little-smoke-851426',
  action: 'start_compute',
  status: 'finished',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:01Z',
  total_duration_ms: 300,
};

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    ' ',
    '\uD800',
    'x'.repeat(64),
    'x'.repeat(65),
    'x'.repeat(100),
    'x'.repeat(101),
    'x'.repeat(3_000),
    -1,
    0,
    0.5,
    -0,
    1e21,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    true,
    [],
    {},
    PROJECT_ID,
    'other-project-1',
    '../x',
    'a.b',
  ),
  fc.string(),
  fc.double(),
);

const rows = fc
  .array(fc.tuple(fc.constantFrom(...Object.keys(usual), 'error', 'extra'), odd), { maxLength: 3 })
  .map((changes) => ({ ...usual, ...Object.fromEntries(changes) }));

describe('the short way', () => {
  test('takes the usual row', () => {
    expect(plainOperation(usual, PROJECT_ID)).toEqual(usual);
  });

  test('takes the row of an operation that has failed, and hides secrets in its error', () => {
    const failed = { ...usual, status: 'failed', error: 'could not reach postgres://me:secret@host/db' };

    expect(plainOperation(failed, PROJECT_ID)?.error).not.toContain('secret');
    expect(plainOperation(failed, PROJECT_ID)).toEqual(schema.parse(failed));
  });

  test('takes no row that the schema refuses, and makes no other operation of one', () => {
    fc.assert(
      fc.property(rows, (row) => {
        const plain = plainOperation(row, PROJECT_ID);
        if (plain === undefined) return;
        expect(schema.safeParse(row).data).toEqual(plain);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([null, undefined, 'x', 7, [], [usual]])('%j is no row', (row) => {
    expect(plainOperation(row, PROJECT_ID)).toBeUndefined();
  });
});
