/**
 * Defines what the table of calls says about one call of the upstream API, and reads a row of the table. The forwarder,
 * the OpenAPI document, the documentation and the simulated service all go by this table.
 */

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

/** What it takes to send a call and to read its answer. */
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
  readonly isBodyOptional?: boolean;
  /** The schema of a success is tolerant, because the service adds fields. */
  readonly answer: z.ZodType;
  /** A success has this status, as the specification or the public contract says. */
  readonly status: 200 | 201 | 202 | 204;
  /** A `DELETE` of a thing that is already gone succeeds with this status. */
  readonly otherStatus?: 200 | 204 | undefined;
  /** A success answers with the bytes of a file. */
  readonly isFile?: boolean;
}

/** A call of the table, with what the API has to know about those who send it. */
export interface TableCall extends Call {
  readonly scope: Scope;
  readonly reach: Reach;
  /**
   * An answer may hold secrets. `connection` stands for connection strings and passwords, which callers with
   * `connection:read` see; `issued` for what the call exists to hand out, which every caller sees who may send the call.
   */
  readonly shows?: 'connection' | 'issued' | undefined;
  /** The call hands out or revokes keys that the bridge cannot limit: it is closed unless the configuration opens it by name. */
  readonly isClosed?: true | undefined;
  /** A caller who is limited to projects may send only these. Without it the schemas of query and body declare them. */
  readonly declared?: DeclaredFields;
}

export interface DeclaredFields {
  readonly query: readonly string[];
  /** The schema is built when it is asked for, because most processes never meet a limited caller of most calls. */
  readonly body: () => z.ZodObject;
}

/** A row without a scope, or with one that does not exist, does not compile, so no call is open by mistake. */
export type Line = `${Method} /${string} | ${Scope} | ${string}`;

/** A row of a call that the specification does not describe: the fields that it may have, beside its line. */
interface Further {
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
  readonly otherStatus?: 204;
  /** A success answers with nothing, with the bytes of a file, or with JSON when this is absent. */
  readonly answer?: 'nothing' | 'file';
  readonly shows?: TableCall['shows'];
  readonly isClosed?: true;
}

type Row = Line | readonly [Line, Further];

export type Rows = Readonly<Record<string, Row>>;

/** A path with a project in it stays within this project, and any other reaches the whole account, unless `reach` says otherwise. */
function readLine(line: Line, reach?: Reach) {
  const [request = '', scope, summary = ''] = line.split(' | ');
  const [method, path = ''] = request.split(' ');
  return {
    method: method as Method,
    path,
    scope: scope as Scope,
    summary,
    reach: reach ?? (path.includes('{project_id}') ? 'path_project' : 'account'),
  };
}

interface Described
  extends Pick<Call, 'section' | 'reach' | 'query' | 'body' | 'isBodyOptional' | 'answer' | 'otherStatus'> {
  /** A success has this status, or 200. */
  readonly status?: Call['status'];
  readonly shows?: TableCall['shows'];
}

/** Makes a call of the specification, and keeps the types of its schemas, from which the types of the client are derived. */
export function specified<const Parts extends Described>(line: Line, parts: Parts): TableCall & Parts {
  return { status: 200, ...parts, ...readLine(line, parts.reach) };
}

/** All calls share these schemas, because schemas are built at every cold start. */
const anyObject = z.looseObject({});
const anyAnswer = z.unknown();
const noAnswer = z.undefined();

/** Makes a call of the public API that the specification does not describe. */
export function publicCall(row: Row): TableCall {
  const [line, further] = typeof row === 'string' ? [row, {} as Further] : row;
  const { reach, query, fields, answer, status = 200, ...rest } = further;
  const call = readLine(line, reach);
  let declaredFields: z.ZodObject | undefined;
  return {
    ...call,
    section: 'The public API',
    query: anyObject,
    ...(call.method !== 'GET' && { body: anyObject, isBodyOptional: true }),
    answer: answer === 'nothing' || status === 204 ? noAnswer : anyAnswer,
    status,
    ...(answer === 'file' && { isFile: true }),
    declared: {
      query: wordsOf(query),
      body: () => (declaredFields ??= declaredBody(wordsOf(fields))),
    },
    ...rest,
  };
}

function wordsOf(text = ''): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

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

/** Every call but a `GET` may change something. */
export function isRead({ method }: Call): boolean {
  return method === 'GET';
}

/** Returns whether the call is a command about one project, whose line it can wait in. */
export function isAboutOneProject({ method, path, reach }: Pick<Call, 'method' | 'path' | 'reach'>): boolean {
  if (method === 'GET' || reach === undefined) return false;
  return reach === 'named_project' || path.includes('{project_id}');
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
