/**
 * Defines what the table says about one call of the public API that the specification does not describe, and turns
 * such a call into the form in which it is sent.
 */

import * as z from 'zod';
import type { Scope } from '../../callers/scopes.ts';
import type { Call, Method, Reach } from '../calls/call.ts';

/** A call without a scope does not compile, so no call is open by mistake. */
export interface PublicCall {
  /** The path stands under the base URL and has `{name}` for each id. */
  readonly request: `${Method} /${string}`;
  readonly scope: Scope;
  /** The documentation shows this line. */
  readonly summary: string;
  /** When it is absent, the call stays within the project of its path if there is one, and reaches the whole account if there is none. */
  readonly reach?: Reach;
  /** The query has these parameters, separated by spaces. */
  readonly query?: string;
  /**
   * The body has these fields, separated by spaces: `branch.name`, `endpoints[].type` within a list, and `settings.*` for a map of plain
   * values. A caller who is limited to projects may send only these fields, so none of them may name a project.
   */
  readonly fields?: string;
  /** A success has this status, or 200. */
  readonly status?: 201 | 202 | 204;
  /** A `DELETE` of a thing that is already gone succeeds with this status. */
  readonly otherStatus?: 204;
  /** A success answers with nothing, with the bytes of a file, or with JSON when this is absent. */
  readonly answer?: 'nothing' | 'file';
  /**
   * An answer may hold secrets. `connection` stands for connection strings and passwords, which callers with
   * `connection:read` see; `issued` for what the call exists to hand out, which every caller sees who may send the call.
   */
  readonly shows?: 'connection' | 'issued';
  /** The call hands out or revokes keys that the bridge cannot limit: it is closed unless the configuration opens it by name. */
  readonly isClosed?: true;
}

export type PublicCalls = Readonly<Record<string, PublicCall>>;

/** The values of a map have names from an open set; a value with fields of its own is not declared. */
const plainValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

/**
 * `paths` looks like `branch.name`, `endpoints[].type` within a list, `settings.*` for a map of plain values. The schema takes any other field,
 * too; the declared fields are those that a caller who is limited to projects may send.
 */
export function declaredBody(paths: readonly string[]): z.ZodObject {
  const inner = new Map<string, string[]>();
  for (const path of paths) {
    const [name = '', ...rest] = path.split('.');
    inner.set(name, [...(inner.get(name) ?? []), ...(rest.length > 0 ? [rest.join('.')] : [])]);
  }
  const shape = [...inner].map(([name, deeper]) => {
    const isList = name.endsWith('[]');
    const field = isList ? name.slice(0, -2) : name;
    const schema = schemaOf(deeper);
    return [field, (isList ? z.array(schema) : schema).optional()] as const;
  });
  return z.looseObject(Object.fromEntries(shape));
}

function schemaOf(deeper: readonly string[]): z.ZodType {
  if (deeper.length === 0) return z.unknown();
  return deeper[0] === '*' ? plainValues : declaredBody(deeper);
}

/** All calls share these schemas, because schemas are built at every cold start. */
const anyObject = z.looseObject({});
const anyAnswer = z.unknown();
const noAnswer = z.undefined();

/** A caller who is limited to projects may send only these. */
export interface DeclaredFields {
  readonly query: readonly string[];
  /** The schema is built when it is asked for, because most processes never meet a limited caller of most calls. */
  readonly body: () => z.ZodObject;
}

export function callOf(call: PublicCall): Call {
  const { request, summary, status = 200, otherStatus } = call;
  const [method, path] = request.split(' ') as [Call['method'], string];
  return {
    method,
    path,
    reach: reachOf(call),
    summary,
    section: 'The public API',
    query: anyObject,
    ...(method !== 'GET' && { body: anyObject, isBodyOptional: true }),
    answer: call.answer === 'nothing' || status === 204 ? noAnswer : anyAnswer,
    status,
    ...(otherStatus !== undefined && { otherStatus }),
  };
}

/** A path with a project in it stays within this project, unless the table says otherwise. */
function reachOf({ request, reach }: PublicCall): Reach {
  return reach ?? (request.includes('{project_id}') ? 'path_project' : 'account');
}

export function declaredFieldsOf({ query, fields }: PublicCall): DeclaredFields {
  let built: z.ZodObject | undefined;
  return {
    query: wordsOf(query),
    body: () => (built ??= declaredBody(wordsOf(fields))),
  };
}

function wordsOf(text = ''): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
