/** Defines what the table of calls says about one call of the upstream API. */

import type * as z from 'zod';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * How far a call reaches. The fence around callers who are limited to projects decides by it.
 *
 * - `path_project`: it stays within the project of its path.
 * - `named_project`: it stays within the `project_id` of its body.
 * - `own_projects`: it lists projects, and the bridge leaves out those that the caller must not see.
 * - `account`: it reaches beyond one project, and is closed to such callers.
 */
export type Reach = 'path_project' | 'named_project' | 'own_projects' | 'account';

export interface Call {
  readonly method: Method;
  /** The path under the base URL, with `{name}` for each id; the names are keys of `idSchemas`. */
  readonly path: string;
  /** Absent means `account`: a call is closed to limited callers until it was decided that it stays within a project. */
  readonly reach?: Reach;
  /** The documentation shows this line. */
  readonly summary: string;
  /** This section of the specification describes the call. */
  readonly section: string;
  /** The query has these parameters. When it is undefined, none is sent. */
  readonly query?: z.ZodObject;
  /**
   * The schema of the body is strict, so that only fields that the specification or the public contract names are
   * sent.
   */
  readonly body?: z.ZodObject;
  /** The schema of a success is tolerant, because the service adds fields. */
  readonly answer: z.ZodType;
  /** A success has this status, as the specification or the public contract says. */
  readonly status: 200 | 201 | 204;
}

/** Keeps the exact types of the parts, from which the types of the client are derived. */
export function defineCall<const C extends Call>(call: C): C {
  return call;
}

/** Every call but a `GET` may change something. */
export function isRead({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET';
}
