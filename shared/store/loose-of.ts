/** Makes an object schema keep the fields that it does not know, also in the objects inside of it. */

import * as z from 'zod';

export function looseOf<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>): z.ZodObject<Shape> {
  const shape = Object.entries(schema.shape).map(([name, type]) => [name, looseInside(type as z.ZodType)]);
  return z.looseObject(Object.fromEntries(shape)) as unknown as z.ZodObject<Shape>;
}

function looseInside(type: z.ZodType): z.ZodType {
  if (type instanceof z.ZodObject) return looseOf(type);
  if (type instanceof z.ZodOptional) return looseInside(type.unwrap() as z.ZodType).optional();
  if (type instanceof z.ZodArray) return z.array(looseInside(type.element as z.ZodType));
  return type;
}
