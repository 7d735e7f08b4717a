/** The upstream's answers: tolerant where it grows (fields, statuses, actions), bounded where it could hurt. */

import * as z from 'zod';

/** Names from an open set end up in keys of metrics and in events: long ones are cut, never refused. */
export const NAME_CHARACTERS_MAX = 100;
export const TEXT_CHARACTERS_MAX = 2_000;

/** The longest form of ISO 8601 with nanoseconds and a zone has 35; the time is stored as received. */
export const TIME_CHARACTERS_MAX = 64;

/** Well formed after the cut: half a character comes back from the store as another one. */
const cutTo = (charactersMax: number) =>
  z.string().transform((value) => value.slice(0, charactersMax).toWellFormed());
export const name = cutTo(NAME_CHARACTERS_MAX);
export const text = cutTo(TEXT_CHARACTERS_MAX);
export const time = z.string().max(TIME_CHARACTERS_MAX);
/** Optional, and `null` says the same. */
export const optional = <T extends z.ZodType>(type: T) =>
  type.nullish().transform((value) => value ?? undefined);
/** Nothing is decided by it, so a value of another type is dropped rather than the row. */
export const hint = <T extends z.ZodType>(type: T) => optional(type).catch(undefined);

/** An operation id goes into paths and keys: letters, digits, `-` and `_`. UUIDs today, other forms in old answers. */
export const OPERATION_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
export const operationId = z.string().regex(OPERATION_ID_PATTERN);

/** Specification examples and the public contract: lower-case words, digits and dashes. */
export const projectId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);

/** Specification "Project (list item)". The bridge needs the id; the rest are hints. */
export const projectSchema = z.looseObject({
  id: projectId,
  name: hint(z.string()),
  created_at: hint(time),
  updated_at: hint(time),
});

/** Specification "Compute endpoint". */
export const endpointSchema = z.looseObject({
  id: z.string().regex(/^ep-[a-z0-9-]{1,60}$/),
  project_id: z.string(),
  branch_id: z.string(),
  type: name,
  current_state: name,
  pending_state: name.optional(),
  autoscaling_limit_min_cu: z.number(),
  autoscaling_limit_max_cu: z.number(),
  suspend_timeout_seconds: z.number().optional(),
  last_active: z.string().optional(),
  created_at: z.string(),
  updated_at: z.string(),
});

/** It travels in a URL, and proxies refuse those over 8 kB. */
export const CURSOR_CHARACTERS_MAX = 1_000;

/**
 * There even when nothing follows; absent on an empty list (public contract). A cursor of another type is not taken
 * for the end of the list: what lies behind it would be lost without a sound.
 */
export const paginationSchema = z.object({
  cursor: optional(z.string().max(CURSOR_CHARACTERS_MAX)).transform((cursor) => cursor || undefined),
});

export const operationListSchema = z.object({
  operations: z.array(z.unknown()),
  pagination: optional(paginationSchema),
});

export const projectListSchema = z.object({
  projects: z.array(z.unknown()),
  pagination: optional(paginationSchema),
  // What is no text is no id either; it must not cost the rows.
  unavailable_project_ids: optional(
    z.array(z.preprocess((id) => (typeof id === 'string' ? id : ''), z.string())),
  ),
});

export const operationAnswerSchema = z.object({ operation: z.unknown() });

/** Seen on every refusal of the public service; the specification does not show a body. */
export const errorBodySchema = z.object({ message: z.string(), code: z.string().optional() });

/** One bad row never costs the others: it is counted and left out. `plain`: a shorter way for rows that are as usual. */
export function parseRows<Row>(
  rows: readonly unknown[],
  schema: z.ZodType<Row> | (() => z.ZodType<Row>),
  plain: (row: unknown) => Row | undefined = () => undefined,
): { readonly rows: readonly Row[]; readonly malformedRowCount: number } {
  const parse = (row: unknown) => (typeof schema === 'function' ? schema() : schema).safeParse(row).data;
  const good = rows.flatMap((row) => plain(row) ?? parse(row) ?? []);
  return { rows: good, malformedRowCount: rows.length - good.length };
}
