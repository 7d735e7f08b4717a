/** Makes the schema of a body of which only the names of some fields are known. */

import * as z from 'zod';

/** The values of a map have names from an open set; a value with fields of its own is not declared. */
const plainValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

/**
 * `paths` looks like `branch.name`, `endpoints[].type` within a list, `settings.*` for a map of plain values. The schema takes any other field,
 * too; the declared fields are those that a caller who is limited to projects may send.
 */
export function declaredBody(paths: readonly string[]): z.ZodObject {
  const inner = new Map<string, string[]>();
  for (const path of paths) {
    const [name = '', ...rest] = path.split('.');
    inner.set(name, [...(inner.get(name) ?? []), ...(rest.length > 0 ? [rest.join('.')] : [])]);
  }
  const shape = [...inner].map(([name, deeper]) => {
    const isList = name.endsWith('[]');
    const field = isList ? name.slice(0, -2) : name;
    const schema = schemaOf(deeper);
    return [field, (isList ? z.array(schema) : schema).optional()] as const;
  });
  return z.looseObject(Object.fromEntries(shape));
}

function schemaOf(deeper: readonly string[]): z.ZodType {
  if (deeper.length === 0) return z.unknown();
  return deeper[0] === '*' ? plainValues : declaredBody(deeper);
}
