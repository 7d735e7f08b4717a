/** Tests that `plainProject` and the schema agree on every row that `plainProject` takes. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainProject, projectSchema } from '../../shared/upstream/calls/schemas.ts';

const usual = {
  id: 'bold-sound-12345678',
  name: 'shop',
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:01Z',
};

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    '-a',
    'A',
    '../x',
    'x\n',
    '\uD800',
    'x'.repeat(63),
    'x'.repeat(64),
    'x'.repeat(65),
    7,
    true,
    [],
    {},
  ),
  fc.string(),
  fc.double(),
);

const rows = fc
  .array(fc.tuple(fc.constantFrom(...Object.keys(usual)), odd), { maxLength: 3 })
  .map((changes) => ({ ...usual, ...Object.fromEntries(changes) }));

describe('the short way to a row of the project list', () => {
  test('takes the usual row with all of its fields, because some of them are hints', () => {
    const row = {
      ...usual,
      active_time: 60,
      cpu_used_sec: 12,
      compute_last_active_at: '2026-01-15T12:00:00Z',
    };
    expect(plainProject(row)).toEqual(row);
    expect(projectSchema.parse(row)).toEqual(row);
  });

  test('takes a row that says nothing but its id', () => {
    expect(plainProject({ id: usual.id })).toEqual({ id: usual.id });
  });

  test('takes no row that the schema refuses, and makes no other project of one', () => {
    fc.assert(
      fc.property(rows, (row) => {
        const plain = plainProject(row);
        if (plain !== undefined) expect(projectSchema.safeParse(row).data).toEqual(plain);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([null, undefined, 'x', 7, [], [usual]])('%j is no row', (row) => {
    expect(plainProject(row)).toBeUndefined();
  });
});
