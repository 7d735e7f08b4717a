/**
 * Defines the upstream's answers. They are tolerant where the service grows (fields, statuses, actions), and bounded
 * where it does not.
 */

import * as z from 'zod';
import {
  createSecret,
  HIDDEN_MARK,
  partToSearch,
  type Secret,
  withoutSecretShapes,
} from '../../runtime/secret.ts';

export const secret = z.string().transform((text): Secret => createSecret(text));

export const pageCursor = z.string().min(1).max(1_000).optional();

/** Names from an open set end up in keys of metrics and in events. Longer ones are cut, never refused. */
export const NAME_CHARACTERS_MAX = 100;
export const TEXT_CHARACTERS_MAX = 2_000;

/** The longest form of ISO 8601 with nanoseconds and a zone has 35; the time is stored as received. */
export const TIME_CHARACTERS_MAX = 64;

/** The text is well formed after the cut, because half a character comes back from the store as another one. */
const cutTo = (value: string, charactersMax: number) => value.slice(0, charactersMax).toWellFormed();
export const name = z.string().transform((value) => cutTo(value, NAME_CHARACTERS_MAX));

/**
 * Returns a text for people as it is kept. It is stored, published and sent on, so what looks like a secret is removed
 * before a cut could hide its shape.
 */
export function textToKeep(value: string): string {
  const searched = partToSearch(value, TEXT_CHARACTERS_MAX);
  return cutTo(withoutSecretShapes(searched, HIDDEN_MARK), TEXT_CHARACTERS_MAX);
}

export const text = z.string().transform(textToKeep);
export const time = z.string().max(TIME_CHARACTERS_MAX);
/** The value is optional, and `null` means that it is absent. */
export const optional = <T extends z.ZodType>(type: T) =>
  type.nullish().transform((value) => value ?? undefined);
/** Nothing is decided by it, so a value of another type is dropped rather than the row. */
export const hint = <T extends z.ZodType>(type: T) => optional(type).catch(undefined);

/**
 * An operation id goes into paths and keys, so it has only letters, digits, `-` and `_`. It is a UUID today, and has
 * other forms in old answers.
 */
export const OPERATION_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
export const operationId = z.string().regex(OPERATION_ID_PATTERN);

/** The examples of the specification and the public contract have lower-case words, digits and dashes. */
export const PROJECT_ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const projectId = z.string().regex(PROJECT_ID_PATTERN);

/** The specification describes this as "Project (list item)". The bridge needs the id; the rest are hints. */
export const projectSchema = z.looseObject({
  id: projectId,
  name: hint(z.string()),
  created_at: hint(time),
  updated_at: hint(time),
});

/** The specification describes this as "Compute endpoint". */
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

/** A cursor travels in a URL, and proxies refuse URLs over 8 kB. */
export const CURSOR_CHARACTERS_MAX = 1_000;

/**
 * The cursor is there even when nothing follows, and absent on an empty list (public contract). A cursor of another
 * type must not count as the end of the list, because what lies behind it would be lost unnoticed.
 */
const paginationSchema = z.object({
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

/** Every refusal of the public service that was seen has this body. The specification shows none. */
export const errorBodySchema = z.object({ message: z.string(), code: z.string().optional() });

/**
 * One bad row never costs the others: it is counted and left out. `plain` is a shorter way for rows that are as
 * usual.
 */
export function parseRows<Row>(
  rows: readonly unknown[],
  schema: z.ZodType<Row> | (() => z.ZodType<Row>),
  plain: (row: unknown) => Row | undefined = () => undefined,
): { readonly rows: readonly Row[]; readonly malformedRowCount: number } {
  const parse = (row: unknown) => (typeof schema === 'function' ? schema() : schema).safeParse(row).data;
  const good = rows.flatMap((row) => plain(row) ?? parse(row) ?? []);
  return { rows: good, malformedRowCount: rows.length - good.length };
}
