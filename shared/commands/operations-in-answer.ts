/** Finds the operations in the answer to a command, wherever they stand in it. */

import type { Operation } from '../core/records/operation.ts';
import { operationSchema } from '../upstream/calls/operation-row.ts';
import { parseRows, projectId } from '../upstream/calls/schemas.ts';
import type { ForwardedAnswer } from '../upstream/forward.ts';

export interface FoundOperations {
  /** A command can start operations of several projects, so they stand under the ids of these. */
  readonly byProject: ReadonlyMap<string, readonly Operation[]>;
  /** The command belongs to the project of its path or body, or else to the one that its answer describes. */
  readonly projectId: string | undefined;
}

/** The deepest operation of the public API stands on the second level. */
const DEPTH_MAX = 10;

/** Rows are looked for under these names, which the public API uses for nothing else but operations. */
const NAMES: ReadonlySet<string> = new Set(['operation', 'operations']);

/** `requested` is the project of the command's path or body. A row that cannot be read is left to the poller. */
export function operationsInAnswer(
  { body }: ForwardedAnswer,
  requested: string | undefined,
): FoundOperations {
  const parsed = parseJson(new TextDecoder().decode(body));
  const own = requested ?? describedProject(parsed);
  const rows = rowsIn(parsed, 0).filter(isObject);
  const projectOf = (row: Row) => (typeof row['project_id'] === 'string' ? row['project_id'] : (own ?? ''));
  const byProject = new Map<string, readonly Operation[]>();
  for (const [id, ofProject] of Map.groupBy(rows, projectOf)) {
    if (!projectId.safeParse(id).success) continue;
    const operations = parseRows(ofProject, operationSchema(id)).rows;
    if (operations.length > 0) byProject.set(id, distinct(operations));
  }
  return { byProject, projectId: own };
}

type Row = Readonly<Record<string, unknown>>;

function rowsIn(value: unknown, depth: number): readonly unknown[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    NAMES.has(name) && !Array.isArray(value) ? [each].flat() : rowsIn(each, depth + 1),
  );
}

/** The answer to the creation of a project describes it under `project`. */
function describedProject(answer: unknown): string | undefined {
  const project = isObject(answer) ? answer['project'] : undefined;
  return isObject(project) ? projectId.safeParse(project['id']).data : undefined;
}

function distinct(operations: readonly Operation[]): readonly Operation[] {
  return [...new Map(operations.map((each) => [each.id, each])).values()];
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer that is not JSON, as after 204, has no operations. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
