/** Reads one row of the project list out of the upstream's answer (specification "Project (list item)"). */

import { PROJECT_ID_PATTERN, TIME_CHARACTERS_MAX } from './schemas.ts';

/** The bridge reads these fields by name, and only the id is required. The planner takes any other field for a possible hint. */
export interface ProjectRow {
  readonly id: string;
  readonly name?: string | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
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
  if (!isTime(created_at) || !isTime(updated_at)) return undefined;
  return row as ProjectRow;
}

function isTime(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value.length <= TIME_CHARACTERS_MAX);
}
