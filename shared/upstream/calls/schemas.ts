/**
 * Defines the upstream's ids and answers, and reads the rows of operations and projects without a schema where a row
 * has the usual form. The schemas are tolerant where the service grows (fields, statuses, actions), and bounded where
 * it does not.
 */

import * as z from 'zod';
import type { Operation } from '../../records/operation-record.ts';
import { normaliseTimestamp } from '../../records/time.ts';
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
const TIME_CHARACTERS_MAX = 64;

/** The text is well formed after the cut, because half a character comes back from the store as another one. */
const cutTo = (value: string, charactersMax: number) => value.slice(0, charactersMax).toWellFormed();
const nameSchema = z.string().transform((value) => cutTo(value, NAME_CHARACTERS_MAX));

/**
 * Returns a text for people as it is kept. It is stored, published and sent on, so what looks like a secret is removed
 * before a cut could hide its shape.
 */
function textToKeep(value: string): string {
  const searched = partToSearch(value, TEXT_CHARACTERS_MAX);
  return cutTo(withoutSecretShapes(searched, HIDDEN_MARK), TEXT_CHARACTERS_MAX);
}

const text = z.string().transform(textToKeep);
const time = z.string().max(TIME_CHARACTERS_MAX);
/** The value is optional, and `null` means that it is absent. */
const optional = <T extends z.ZodType>(type: T) => type.nullish().transform((value) => value ?? undefined);
/** Nothing is decided by it, so a value of another type is dropped rather than the row. */
const hint = <T extends z.ZodType>(type: T) => optional(type).catch(undefined);

/**
 * An operation id goes into paths and keys, so it has only letters, digits, `-` and `_`. It is a UUID today, and has
 * other forms in old answers.
 */
const OPERATION_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
const operationId = z.string().regex(OPERATION_ID_PATTERN);

/** The examples of the specification and the public contract have lower-case words, digits and dashes. */
const PROJECT_ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const projectIdSchema = z.string().regex(PROJECT_ID_PATTERN);

/** The specification describes this as "Project (list item)". The bridge needs the id; the rest are hints. */
export const projectSchema = z.looseObject({
  id: projectIdSchema,
  name: hint(z.string()),
  created_at: hint(time),
  updated_at: hint(time),
});

/** The specification describes this as "Compute endpoint". */
export const endpointSchema = z.looseObject({
  id: z.string().regex(/^ep-[a-z0-9-]{1,60}$/),
  project_id: z.string(),
  branch_id: z.string(),
  type: nameSchema,
  current_state: nameSchema,
  pending_state: nameSchema.optional(),
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

/** The specification says in "Compute endpoint" that the id starts with `ep-`. */
const endpointId = z.string().regex(/^ep-[a-z0-9-]{1,60}$/);

/** The specification says in "Compute endpoint" that the id starts with `br-`. */
export const branchId = z.string().regex(/^br-[a-z0-9-]{1,60}$/);

/**
 * A name that people choose freely may have everything but what has a meaning in a path, before or after a proxy has
 * decoded it. It is percent-encoded when it is sent.
 */
const NAME = String.raw`(?!\.{1,2}(?:/|$))[^/\\%?#\p{Cc}]{1,255}`;
const objectName = z.string().regex(new RegExp(`^${NAME}$`, 'u'));

/** The key of a stored object consists of such names with slashes between them. */
const objectKey = z.string().regex(new RegExp(`^${NAME}(?:/${NAME}){0,30}$`, 'u'));

/** The name of a domain, or of a field of the logs, has parts with single dots between them. */
const dottedName = z.string().regex(/^(?=.{1,253}$)[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*$/);

export const idSchemas = {
  project_id: projectIdSchema,
  operation_id: operationId,
  endpoint_id: endpointId,
  /** This is the id of a user at the auth provider. Its form is not documented. */
  auth_user_id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/),
  /** Values like `google`, `github` and `microsoft` are known. The set is open. */
  oauth_provider_id: z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
  /** The specification has one value and the public contract several, so the set is open. */
  auth_provider: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  database_name: objectName,
  role_name: objectName,
  bucket_name: objectName,
  object_key: objectKey,
  domain: dottedName,
  field_name: dottedName,
} as const;

type IdName = keyof typeof idSchemas;

/**
 * This pattern is for ids that only a configuration names. Letters, digits, `_` and `-` have no meaning in a path.
 */
const opaqueId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/);

/** Returns the pattern of an id, by its name in the path. */
export function idSchemaOf(name: string): z.ZodType<string> {
  return name in idSchemas ? idSchemas[name as IdName] : opaqueId;
}

/** The templates are those of the table and of the configuration, so there are a few hundred. */
const namesOfPaths = new Map<string, readonly string[]>();

/** Returns the names of the ids in a path template, in order. */
export function idNamesOf(path: string): readonly string[] {
  const known = namesOfPaths.get(path);
  if (known !== undefined) return known;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  namesOfPaths.set(path, names);
  return names;
}

/**
 * These are the fields of a row. Only what identifies a state and its place in the list is required, because older answers
 * lack the rest. What
 * decides a state or a key must be of its type; the rest are hints. Unknown fields are left out, because an event
 * contains documented fields only.
 */
const fields = {
  id: operationId,
  project_id: optional(projectIdSchema),
  branch_id: hint(nameSchema),
  endpoint_id: hint(nameSchema),
  action: optional(nameSchema),
  status: nameSchema,
  failures_count: optional(z.number().int().nonnegative()),
  created_at: time.refine(isUsable),
  updated_at: optional(time),
  total_duration_ms: hint(z.number().nonnegative()),
  error: hint(text),
} satisfies Record<keyof Operation, z.ZodType>;

export function operationSchema(requestedProjectId: string) {
  return z.object(fields).transform(
    (row): Operation => ({
      ...row,
      project_id: row.project_id ?? requestedProjectId,
      action: row.action ?? 'unknown',
      failures_count: row.failures_count ?? 0,
      updated_at: row.updated_at ?? row.created_at,
    }),
  );
}

/**
 * Reads the usual row of a list, as nearly all rows of nearly all pages are. Everything that is not plainly right is
 * left to the schema, which says the same about every row (a test holds the two together) and takes five times as
 * long. When it returns undefined, the caller must ask the schema. `projectId` has the form of a project id.
 */
export function plainOperation(row: unknown, projectId: string): Operation | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { id, project_id, branch_id, endpoint_id, action, status, failures_count } = row as Record<
    string,
    unknown
  >;
  const { created_at, updated_at, total_duration_ms, error } = row as Record<string, unknown>;
  if (project_id !== projectId || !isText(error)) return undefined;
  if (typeof id !== 'string' || !OPERATION_ID_PATTERN.test(id)) return undefined;
  if (!isName(action) || !isName(status) || !isTime(created_at) || !isTime(updated_at)) return undefined;
  if (!isUsable(created_at)) return undefined;
  if (branch_id !== undefined && !isName(branch_id)) return undefined;
  if (endpoint_id !== undefined && !isName(endpoint_id)) return undefined;
  if (!isCount(failures_count) || (total_duration_ms !== undefined && !isDuration(total_duration_ms)))
    return undefined;
  return {
    id,
    project_id: projectId,
    branch_id,
    endpoint_id,
    action,
    status,
    failures_count,
    created_at,
    updated_at,
    total_duration_ms,
    error: error === undefined ? undefined : textToKeep(error),
  } satisfies Record<keyof Operation, unknown>;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_CHARACTERS_MAX && value.isWellFormed();
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/** A row without a readable time has no place in the list, and DynamoDB takes no empty key of an index. */
function isUsable(createdAt: string): boolean {
  return normaliseTimestamp(createdAt) !== undefined;
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TIME_CHARACTERS_MAX;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** The bridge reads these fields by name, and only the id is required. The planner takes any other field for a possible hint. */
export interface ProjectRow {
  readonly id: string;
  readonly name?: string | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
  /** These say what was used (`functions/poller/account/usage.ts`). */
  readonly active_time?: unknown;
  readonly cpu_used_sec?: unknown;
  readonly quota_reset_at?: unknown;
  readonly settings?: unknown;
}

/**
 * Reads the usual row, as nearly all rows of nearly all pages are. Everything that is not plainly right is left to the
 * schema, which says the same about every row (a test holds the two together). The row is returned as it is, with all of
 * its fields, because some of them are hints. When the answer is undefined, the caller must ask the schema.
 */
export function plainProject(row: unknown): ProjectRow | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { id, name, created_at, updated_at } = row as Record<string, unknown>;
  if (typeof id !== 'string' || !PROJECT_ID_PATTERN.test(id)) return undefined;
  if (name !== undefined && typeof name !== 'string') return undefined;
  if (!isTimeOrAbsent(created_at) || !isTimeOrAbsent(updated_at)) return undefined;
  return row as ProjectRow;
}

function isTimeOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value.length <= TIME_CHARACTERS_MAX);
}
