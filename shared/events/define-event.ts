/**
 * Defines an event once, with its name on the bus, its zod schema and when it happens, and the fields that the
 * details of several events share.
 */

import * as z from 'zod';

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

/**
 * A set of values that can gain values without notice. The type names the known ones, so that an editor offers them,
 * and the schema takes any text: a consumer reads a value that is newer than its schema, and decides about it itself.
 * In a JSON Schema the known values are `examples`.
 */
export function openSet<const Known extends string>(
  known: readonly Known[],
): z.ZodType<Known | (string & Record<never, never>)> {
  return z.string().meta({ examples: [...known] });
}

export const common = {
  schema: z.literal(1).describe('Version of this detail. Within a version, fields are only added.'),
  id: z.string().describe('The same on every copy of the event: drop an event whose id you have dealt with.'),
  account_id: z.string().describe('The account, as the configuration of the bridge names it.'),
  observed_at: z.iso.datetime().describe('When the bridge observed this, by its own clock.'),
};

export const command = z
  .object({
    client_id: z.string(),
    request_id: z.string(),
    traceparent: z
      .string()
      .optional()
      .describe("W3C Trace Context of the caller's request, when the caller sent one."),
  })
  .describe('The command through this bridge that started the operation, and the caller who sent it.');

export const operations = z.array(
  z.object({
    operation_id: z.string(),
    action: z.string(),
    status: z.string(),
    failures_count: z.number().int().nonnegative(),
  }),
);
