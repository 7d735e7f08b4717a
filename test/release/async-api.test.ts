/** docs/asyncapi.json is an AsyncAPI document by its own schema, and each of its messages has an example of itself. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import schemaOfAsyncApi from '@asyncapi/specs/schemas/3.1.0-without-$id.json' with { type: 'json' };
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { ROOT } from '../../infra/release/project.ts';

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

const asyncApi = z
  .object({
    asyncapi: z.string(),
    components: z.object({
      messages: z.record(
        z.string(),
        z.object({
          payload: z.record(z.string(), z.unknown()),
          examples: z.array(z.object({ payload: z.unknown() })),
        }),
      ),
    }),
  })
  .parse(readJson('docs/asyncapi.json'));

test('the document is what the schema of its version asks for', () => {
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schemaOfAsyncApi);

  expect(asyncApi.asyncapi).toBe('3.1.0');
  validate(readJson('docs/asyncapi.json'));
  expect(validate.errors).toBeNull();
});

// Formats have tests of their own, where zod reads the examples.
const ajv = new Ajv2020({ strict: false, validateFormats: false });
for (const file of readdirSync(join(ROOT, 'docs/schemas')))
  ajv.addSchema(readJson(`docs/schemas/${file}`) as object, `https://docs.test/schemas/${file}`);

test.each(Object.entries(asyncApi.components.messages))(
  '%s accepts its example',
  (name, { payload, examples }) => {
    const validate = ajv.compile({ ...payload, $id: `https://docs.test/${name}.json` });

    expect(examples).toHaveLength(1);
    for (const example of examples)
      expect(validate(example.payload), ajv.errorsText(validate.errors)).toBe(true);
    expect(validate({ ...(examples[0]?.payload as object), detail: {} })).toBe(false);
  },
);
