/** What a person reads who sent a value that a schema refuses. */

import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { plainWords } from '../../shared/runtime/read-config.ts';

function wordsFor(schema: z.ZodType, value: unknown): string | undefined {
  return schema.safeParse(value, { error: plainWords }).error?.issues[0]?.message;
}

describe('a value that a schema refuses', () => {
  test.each<readonly [string, z.ZodType, unknown]>([
    ['is required', z.string(), undefined],
    ['is required', z.number(), undefined],
    ['must be a text', z.string(), 7],
    ['must be a number', z.number(), 'seven'],
    ['must be a whole number', z.int(), 7.5],
    ['must be a number', z.number(), Number.NaN],
    ['must be true or false', z.boolean(), 'yes'],
    ['must be a list', z.array(z.string()), 'one'],
    ['must be an object', z.object({}), 'one'],
    ['must be at least 0.5', z.number().min(0.5), 0.1],
    ['must be more than 2', z.number().gt(2), 2],
    ['must be at most 5', z.number().max(5), 6],
    ['must be less than 3', z.number().lt(3), 3],
    ['must have at least 1 character', z.string().min(1), ''],
    ['must have at most 3 characters', z.string().max(3), 'four'],
    ['must have exactly 3 characters', z.string().length(3), 'four'],
    ['must have at most 2 items', z.array(z.number()).max(2), [1, 2, 3]],
    ['must be one of active, paused', z.enum(['active', 'paused']), 'asleep'],
    ['must be true', z.literal(true), false],
    ['must be a multiple of 5', z.number().multipleOf(5), 7],
    ['is not of the expected form', z.string().regex(/^a/), 'b'],
    ['must be a time such as 2026-01-31T12:00:00Z', z.iso.datetime(), 'noon'],
    ['must be an e-mail address', z.email(), 'nobody'],
    ['is no name that may stand here', z.record(z.string().regex(/^a/), z.number()), { b: 1 }],
    ['is of none of the forms that are allowed here', z.union([z.string(), z.number()]), true],
  ])('%s', (words, schema, value) => {
    expect(wordsFor(schema, value)).toBe(words);
  });

  test('is described in the words of the schema where it has some', () => {
    const schema = z.string().refine((text) => text.endsWith('/'), { error: 'must end with a slash' });

    expect(wordsFor(schema, 'a')).toBe('must end with a slash');
    expect(wordsFor(z.number({ error: 'must be a count' }), 'a')).toBe('must be a count');
  });

  test('is not repeated, because it may be a secret', () => {
    const secret = 'napi_secret';
    const schemas = [z.number(), z.enum(['a']), z.string().max(3), z.string().regex(/^a/), z.email()];

    for (const schema of schemas) expect(wordsFor(schema, secret)).not.toContain(secret);
  });
});
