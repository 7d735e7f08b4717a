/** What deployed functions use in place of zod judges every value as zod does, and builds a schema when it is first used. */

import { describe, expect, test } from 'vitest';
import * as zod from 'zod';
import * as deferred from '../../infra/aws/lambda-schemas.ts';

/** Each of these schemas is defined once with zod and once with its replacement. */
function schemasOf(z: typeof zod) {
  const id = z
    .string()
    .min(2)
    .max(5)
    .regex(/^[a-z]/);
  const kept = { id, note: z.string().optional().describe('What a person wrote.') };
  const first = z.object({
    kind: z.literal('first'),
    ...kept,
    count: z.number().int().nonnegative().default(0),
  });
  const second = z.looseObject({ kind: z.literal('second'), of: z.array(first.pick({ id: true })).min(1) });
  return {
    first,
    second,
    either: z.discriminatedUnion('kind', [first, second]),
    strict: z.strictObject({ id, at: z.url().nullable() }),
    extended: first.extend({ more: z.boolean() }).partial({ id: true }),
    ofShape: z.object({ ...first.shape, kind: second.shape.kind }),
    map: z.record(z.string(), z.union([z.number(), z.boolean(), z.null()])),
    chosen: z.enum(['left', 'right']).catch('left'),
    forced: z.coerce.number().positive().lte(9).optional(),
    own: z.custom<string>((value) => value === 'mine'),
    prepared: z.preprocess((value) => value ?? 'none', z.string()),
    changed: z.string().transform(Number).pipe(z.number().gt(1)),
    checked: z.object({ low: z.number(), high: z.number() }).refine(({ low, high }) => low <= high, {
      path: ['low'],
      error: 'must not be above high',
    }),
    anything: z.looseObject({ inner: z.unknown() }).loose().readonly().nullish(),
  };
}

const VALUES: readonly unknown[] = [
  undefined,
  null,
  '',
  '2',
  'ab',
  'left',
  'mine',
  7,
  -1,
  [],
  {},
  { kind: 'first', id: 'ab' },
  { kind: 'first', id: 'TOO LONG', count: 1.5, extra: 1 },
  { kind: 'second', id: 'ab', of: [{ id: 'cd', extra: 1 }], extra: 1 },
  { kind: 'second', of: [] },
  { kind: 'third' },
  { id: 'ab', at: 'https://host/path' },
  { id: 'ab', at: null, extra: 1 },
  { kind: 'first', more: true },
  { low: 2, high: 1 },
  { low: 1, high: 2 },
  { inner: { deep: [1] }, other: 1 },
];

const [theirs, ours] = [schemasOf(zod), schemasOf(deferred as unknown as typeof zod)];
const names = Object.keys(theirs) as (keyof typeof theirs)[];

describe.each(names)('the deferred schema %s', (name) => {
  test('takes and refuses what the schema of zod takes and refuses, in the same words', () => {
    for (const value of VALUES) expect(resultOf(ours[name], value)).toEqual(resultOf(theirs[name], value));
  });

  test('is recognized as the class of zod that it stands for', () => {
    const classes = [zod.ZodObject, zod.ZodArray, zod.ZodOptional, zod.ZodDefault, zod.ZodRecord];

    expect(classes.map((each) => ours[name] instanceof each)).toEqual(
      classes.map((each) => theirs[name] instanceof each),
    );
  });
});

test('the JSON Schema of a deferred schema is the one of zod, with its descriptions', () => {
  for (const name of ['first', 'second', 'either', 'strict', 'map', 'chosen'] as const)
    expect(deferred.toJSONSchema(ours[name].describe('All of it.'))).toEqual(
      zod.toJSONSchema(theirs[name].describe('All of it.')),
    );
});

test('a schema is built when a value is parsed with it, and only once', () => {
  let builtCount = 0;
  const values = {
    get only() {
      builtCount += 1;
      return 'only';
    },
  };
  const schema = deferred.object({ a: deferred.enum(values).optional() }).extend({ b: deferred.string() });
  const fields = Object.keys(deferred.object({ a: schema }).shape);

  expect([fields, builtCount]).toEqual([['a'], 0]);

  schema.parse({ b: '' });
  const readCount = builtCount;
  schema.parse({ a: 'only', b: '' });

  expect(readCount).toBeGreaterThan(0);
  expect(builtCount).toBe(readCount);
});

function resultOf(schema: zod.ZodType, value: unknown): object {
  const { success, data, error } = schema.safeParse(value);
  return { success, data, issues: error?.issues };
}
