/** Reads one row of the project list out of the upstream's answer (specification "Project (list item)"). */

import { PROJECT_ID_PATTERN, TIME_CHARACTERS_MAX } from './schemas.ts';

/** The bridge needs these fields of a row and no others. Only the id is required. */
export interface ProjectRow {
  readonly id: string;
  readonly name?: string | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
}

/**
 * Reads the usual row, as nearly all rows of nearly all pages are. Everything that is not plainly right is left to the
 * schema, which says the same about these fields (a test holds the two together) and copies all the others. When it
 * returns undefined, the caller must ask the schema.
 */
export function plainProject(row: unknown): ProjectRow | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { id, name, created_at, updated_at } = row as Record<string, unknown>;
  if (typeof id !== 'string' || !PROJECT_ID_PATTERN.test(id)) return undefined;
  if (name !== undefined && typeof name !== 'string') return undefined;
  if (!isTime(created_at) || !isTime(updated_at)) return undefined;
  return { id, name, created_at, updated_at };
}

function isTime(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value.length <= TIME_CHARACTERS_MAX);
}
