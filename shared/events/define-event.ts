/** Defines an event once: its name on the bus, its zod schema, and when it happens. Everything else is derived. */

import type * as z from 'zod';

export interface EventDefinition<Detail extends z.ZodObject = z.ZodObject, Type extends string = string> {
  /** The bus calls this `detail-type`. */
  readonly detailType: Type;
  readonly summary: string;
  readonly detail: Detail;
  readonly example: z.infer<Detail>;
}

/** Keeps the exact name, so that a consumer can distinguish the events by it. */
export function defineEvent<Detail extends z.ZodObject, const Type extends string>(
  definition: EventDefinition<Detail, Type>,
): EventDefinition<Detail, Type> {
  return definition;
}
