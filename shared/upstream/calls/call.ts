/** Defines what the table of calls says about one call of the upstream API. */

import * as z from 'zod';
import type { Scope } from '../../callers/scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Says how far a call reaches. The fence around callers who are limited to projects decides by it.
 *
 * - `path_project`: it stays within the project of its path.
 * - `named_project`: it stays within the `project_id` of its body.
 * - `own_projects`: it lists projects, and the bridge leaves out those that the caller must not see.
 * - `listed_projects`: it is about the projects that its query names in `project_ids`.
 * - `account`: it reaches beyond one project, and is closed to such callers.
 */
export type Reach = 'path_project' | 'named_project' | 'own_projects' | 'listed_projects' | 'account';

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
   * The schema of the body checks the fields that it declares, and lets other fields through, which the upstream judges.
   * The fence stops them when the caller is limited to projects.
   */
  readonly body?: z.ZodObject;
  /** The call may be sent without a body. */
  readonly isBodyOptional?: true;
  /** The schema of a success is tolerant, because the service adds fields. */
  readonly answer: z.ZodType;
  /** A success has this status, as the specification or the public contract says. */
  readonly status: 200 | 201 | 202 | 204;
  /** A `DELETE` of a thing that is already gone succeeds with this status. */
  readonly otherStatus?: 200 | 204;
}

/** A call of the specification without a scope does not compile, so no call is open by mistake. */
export interface SpecifiedCall extends Call {
  readonly scope: Scope;
}

/** Keeps the exact types of the parts, from which the types of the client are derived. */
export function defineCall<const C extends SpecifiedCall>(call: C): C {
  return call;
}

/** Every call but a `GET` may change something. */
export function isRead({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET';
}

/** Returns paths like `endpoint.settings.project_id`. A field is declared by the schema of an object, of a list's elements or of a map's values. */
export function undeclaredFields(
  schema: z.ZodType | undefined,
  value: unknown,
  path = '',
): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const declared = unwrapped(schema);
  if (Array.isArray(value)) {
    const element = declared instanceof z.ZodArray ? (declared.element as z.ZodType) : undefined;
    return value.flatMap((each, place) => undeclaredFields(element, each, joined(path, String(place))));
  }
  return Object.entries(value).flatMap(([name, each]) => {
    const member = memberOf(declared, name);
    return member === undefined ? [joined(path, name)] : undeclaredFields(member, each, joined(path, name));
  });
}

function memberOf(declared: z.ZodType | undefined, name: string): z.ZodType | undefined {
  if (declared instanceof z.ZodRecord) return declared.valueType as z.ZodType;
  if (!(declared instanceof z.ZodObject) || !Object.hasOwn(declared.shape, name)) return undefined;
  return declared.shape[name] as z.ZodType;
}

function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
