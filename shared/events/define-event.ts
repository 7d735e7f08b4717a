/** One definition per event: its name on the bus, its zod schema, and when it happens. Everything else is derived. */

import type * as z from 'zod';

export interface EventDefinition<Detail extends z.ZodObject = z.ZodObject> {
  /** `detail-type` on the bus. */
  readonly detailType: string;
  readonly summary: string;
  readonly detail: Detail;
  readonly example: z.infer<Detail>;
}

export function defineEvent<Detail extends z.ZodObject>(
  definition: EventDefinition<Detail>,
): EventDefinition<Detail> {
  return definition;
}
