/**
 * Reads the rows of operations and of projects out of the upstream's answers, without a schema where a row has the
 * usual form.
 */

import * as z from 'zod';
import type { Operation } from '../../records/operation.ts';
import { normaliseTimestamp } from '../../records/time.ts';
import {
  hint,
  NAME_CHARACTERS_MAX,
  name as nameSchema,
  OPERATION_ID_PATTERN,
  operationId,
  optional,
  PROJECT_ID_PATTERN,
  projectId as projectIdSchema,
  TIME_CHARACTERS_MAX,
  text,
  textToKeep,
  time,
} from './schemas.ts';

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
