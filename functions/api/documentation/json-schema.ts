/** Turns a schema of the code into a part of the OpenAPI document. */

import * as z from 'zod';

/** The result has no `$schema`, which belongs only to a document of its own. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
