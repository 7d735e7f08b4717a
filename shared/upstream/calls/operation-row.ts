/** Reads one operation out of the upstream's answers (specification "Operation"). A new field of an operation is added here. */

import * as z from 'zod';
import type { Operation } from '../../core/records/operation.ts';
import { normaliseTimestamp } from '../../core/time/timestamp.ts';
import {
  hint,
  NAME_CHARACTERS_MAX,
  name,
  OPERATION_ID_PATTERN,
  operationId,
  optional,
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
  branch_id: hint(name),
  endpoint_id: hint(name),
  action: optional(name),
  status: name,
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
