/**
 * The usual row of a list of operations, taken as it is: nearly all rows of nearly all pages. Whatever is not plainly right is left
 * to the schema, which says the same about every row (a test holds the two together) and takes five times as long.
 */

import type { Operation } from '../core/records/operation.ts';

const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
const NAME_CHARACTERS_MAX = 100;
const TIME_CHARACTERS_MAX = 64;

/** Undefined: ask the schema. `projectId` is of the form of one. */
export function plainOperation(row: unknown, projectId: string): Operation | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { id, project_id, branch_id, endpoint_id, action, status, failures_count } = row as Record<
    string,
    unknown
  >;
  const { created_at, updated_at, total_duration_ms, error } = row as Record<string, unknown>;
  if (project_id !== projectId || error !== undefined) return undefined;
  if (typeof id !== 'string' || !ID_PATTERN.test(id)) return undefined;
  if (!isName(action) || !isName(status) || !isTime(created_at) || !isTime(updated_at)) return undefined;
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
  };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_CHARACTERS_MAX && value.isWellFormed();
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
