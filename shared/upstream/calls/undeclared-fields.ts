/**
 * Finds the fields of a value that a schema does not declare. A caller who is limited to projects must not send them.
 */

import * as z from 'zod';

/** Returns paths like `endpoint.settings.project_id`. A field is declared by the schema of an object, of a list's elements or of a map's values. */
export function undeclaredFields(
  schema: z.ZodType | undefined,
  value: unknown,
  path = '',
): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const declared = unwrapped(schema);
  if (Array.isArray(value)) {
    const element = declared instanceof z.ZodArray ? (declared.element as z.ZodType) : undefined;
    return value.flatMap((each, place) => undeclaredFields(element, each, joined(path, String(place))));
  }
  return Object.entries(value).flatMap(([name, each]) => {
    const member = memberOf(declared, name);
    return member === undefined ? [joined(path, name)] : undeclaredFields(member, each, joined(path, name));
  });
}

function memberOf(declared: z.ZodType | undefined, name: string): z.ZodType | undefined {
  if (declared instanceof z.ZodRecord) return declared.valueType as z.ZodType;
  if (!(declared instanceof z.ZodObject) || !Object.hasOwn(declared.shape, name)) return undefined;
  return declared.shape[name] as z.ZodType;
}

function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
