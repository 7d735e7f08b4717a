/** What the table of calls says of one call of the upstream API. */

import type * as z from 'zod';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * How far a call reaches, as the fence around callers that are limited to projects needs to know it.
 *
 * - `path_project`: it stays within the project of its path.
 * - `named_project`: it stays within the `project_id` of its body.
 * - `own_projects`: it lists projects, and the bridge leaves out those of others.
 * - `account`: it reaches further, and is closed to such callers.
 */
export type Reach = 'path_project' | 'named_project' | 'own_projects' | 'account';

export interface Call {
  readonly method: Method;
  /** Under the base URL, with `{name}` for each id; the names are keys of `idSchemas`. */
  readonly path: string;
  /** Absent: `account`. A call is closed to limited callers until somebody has decided that it stays within a project. */
  readonly reach?: Reach;
  /** One line for documentation. */
  readonly summary: string;
  /** Where the specification describes it. */
  readonly section: string;
  /** Query parameters; undefined: none is sent. */
  readonly query?: z.ZodObject;
  /** What is sent. Strict: nothing leaves that the specification or the public contract does not name. */
  readonly body?: z.ZodObject;
  /** What a success answers. Tolerant: the service grows. */
  readonly answer: z.ZodType;
  /** The status of a success, as the specification or the public contract says. */
  readonly status: 200 | 201 | 204;
}

/** Keeps the exact types of the parts, for the types of the client. */
export function defineCall<const C extends Call>(call: C): C {
  return call;
}

/** Every call but a `GET` may change something. */
export function isRead({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET';
}
