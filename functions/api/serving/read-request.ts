/** Turns what a caller sent into what a route takes. Every part is parsed and bounded, and a refusal names the field at fault. */

import * as z from 'zod';
import { type JsonPart, readJson, textOf } from '../../../shared/commands/json-text.ts';
import { readBounded } from '../../../shared/runtime/foreign-text.ts';
import { plainWords } from '../../../shared/runtime/read-config.ts';
import { undeclaredFields } from '../../../shared/upstream/calls/call.ts';
import { idNamesOf, idSchemaOf } from '../../../shared/upstream/calls/schemas.ts';
import { type FieldFault, invalid, nameable, Problem } from './problem.ts';
import { type ApiRequest, isPassedOn, type Route } from './route.ts';

/** This is a request before anything of it is checked. */
export interface RawRequest {
  /** The ids of the path are decoded, and have the names of the route's path. */
  readonly ids: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The whole address, with the host that the front door names. The bridge's own requests have none. */
  readonly url?: string;
  readonly headers: Headers;
  /** Reads the bytes that really arrive, whatever a header says about their number. */
  readonly body: () => Promise<Uint8Array>;
  /** Aborts when the caller closes the connection. */
  readonly signal?: AbortSignal;
}

/** The largest body of the bridge's own routes has a few hundred bytes. */
export const BODY_BYTES_MAX = 64_000;

/**
 * The public API names no bound for bodies. The largest that are known, the settings of functions and masking rules of a
 * whole schema, have tens of kilobytes. A command of this size still fits into one item of the table while it waits in line.
 */
export const PASSED_BODY_BYTES_MAX = 256_000;

export function bodyBytesMaxOf(route: Route): number {
  return isPassedOn(route) ? PASSED_BODY_BYTES_MAX : BODY_BYTES_MAX;
}

/** The deepest body of the specification has three levels. */
export const JSON_DEPTH_MAX = 20;

/** The longest list of projects that the public API takes in a query has a hundred. */
const PARAMETERS_MAX = 120;

/** The names of the public API have at most thirty characters; some clients put `[]` behind the name of a list. */
const PARAMETER_NAME = /^[A-Za-z][\w.-]{0,99}(\[\w{0,20}\])?$/;

export function readIds(route: Route, ids: RawRequest['ids']): Readonly<Record<string, string>> {
  const faults: FieldFault[] = [];
  const read = idNamesOf(route.path).map((name) => {
    const parsed = idSchemaOf(name).safeParse(ids[name]);
    if (!parsed.success) faults.push({ field: `path.${name}`, reason: 'is not of the form of such an id' });
    return [name, parsed.data ?? ''] as const;
  });
  if (faults.length > 0) throw invalid(faults);
  return Object.fromEntries(read);
}

export function readQuery(route: Route, query: URLSearchParams): Readonly<Record<string, unknown>> {
  // Some clients send an empty cursor with the first page.
  const takesCursor = route.declared?.query.includes('cursor') ?? route.query?.shape['cursor'] !== undefined;
  if (takesCursor && query.get('cursor') === '') query.delete('cursor');
  const names = [...new Set(query.keys())];
  if (query.size > PARAMETERS_MAX)
    throw invalid([{ field: 'query', reason: `has more than ${PARAMETERS_MAX} parameters` }]);
  const nameless = names.filter((name) => !PARAMETER_NAME.test(name) || PROTOTYPE_NAMES.has(name));
  if (nameless.length > 0)
    throw invalid(
      nameless.map((name) => ({ field: `query.${nameable(name)}`, reason: 'is no name of a parameter' })),
    );
  // Some lists of the public API are sent as a parameter that stands there several times.
  if (route.declared !== undefined)
    return Object.fromEntries(names.map((name) => [name, oneOrAll(query.getAll(name))]));
  const repeated = names.filter((name) => query.getAll(name).length > 1);
  if (repeated.length > 0) {
    throw invalid(
      repeated.map((name) => ({ field: `query.${nameable(name)}`, reason: 'stands there more than once' })),
    );
  }
  const values = Object.fromEntries(names.map((name) => [name, query.get(name)]));
  if (route.query === undefined) {
    if (names.length === 0) return {};
    throw invalid(
      names.map((name) => ({
        field: `query.${nameable(name)}`,
        reason: 'this call takes no such parameter',
      })),
    );
  }
  const parsed = parsePart('query', route.query, values);
  return isPassedOn(route) ? values : parsed;
}

function oneOrAll(values: readonly string[]): string | readonly string[] {
  return values.length === 1 ? (values[0] ?? '') : values;
}

/** The body is undefined when the route takes none. One that is not empty is refused then. */
export async function readBody(route: Route, raw: RawRequest): Promise<Pick<ApiRequest, 'body' | 'json'>> {
  if ((raw.headers.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
    throw new Problem('media-type-unsupported', {
      detail: 'The body has a content-encoding, and none is taken; send it without compression.',
      headers: { 'accept-encoding': 'identity' },
    });
  }
  const bytes = await raw.body();
  const bytesMax = bodyBytesMaxOf(route);
  if (bytes.byteLength > bytesMax) {
    throw new Problem('body-too-large', {
      // No more is read than shows that the bound is exceeded, so the size of the whole body is not known.
      detail: `The body has more than ${bytesMax} bytes, which is the most that is taken.`,
    });
  }
  if (route.body === undefined) {
    // Some clients send an empty object with calls that have no body.
    if (bytes.byteLength === 0 || isEmptyObject(bytes)) return { body: undefined, json: undefined };
    throw invalid([{ field: 'body', reason: 'this call takes none' }]);
  }
  if (route.isBodyOptional && bytes.byteLength === 0) return { body: undefined, json: undefined };
  const mediaType = raw.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  const isForm = mediaType === 'application/x-www-form-urlencoded';
  // A body without a content type is taken as JSON, as the upstream takes it.
  if (mediaType !== '' && mediaType !== 'application/json' && !isForm) {
    throw new Problem('media-type-unsupported', {
      detail: 'Send application/json or application/x-www-form-urlencoded. The bridge passes on no files.',
    });
  }
  const text = decode(bytes);
  const fields = route.declared?.body() ?? route.body;
  const value = isForm ? parseDeclaredForm(text, fields) : parseJson(text);
  return { body: parsePart('body', route.body, value), json: isForm ? undefined : text };
}

/** A form gives no types, so the bridge can pass on only the fields that it knows. */
function parseDeclaredForm(text: string, fields: z.ZodObject): unknown {
  // `curl -d` sends JSON as a form unless it is told otherwise.
  if (/^\s*[{[]/.test(text))
    throw invalid([
      { field: 'body', reason: 'looks like JSON; send it with content-type: application/json' },
    ]);
  const value = parseForm(text, fields);
  const unknown = undeclaredFields(fields, value);
  if (unknown.length === 0) return value;
  throw invalid(
    unknown.map((name) => ({
      field: `body.${nameable(name)}`,
      reason: 'this call has no such field in a form; send JSON for a field that the bridge does not know',
    })),
  );
}

function parseJson(text: string): unknown {
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid([{ field: 'body', reason: 'is not JSON' }]);
  }
  const parts = readJson(text);
  const fault = parts === undefined ? TOO_DEEP : firstFaultIn(text, parts, 1);
  if (fault !== undefined) throw invalid([{ field: 'body', reason: fault }]);
  return value;
}

const TOO_DEEP = `is nested more than ${JSON_DEPTH_MAX} deep`;

/** Says what no body may have. The bridge decides by the last of equal names, and the upstream may go by another one of them. */
function firstFaultIn(text: string, parts: readonly JsonPart[], level: number): string | undefined {
  for (const part of parts) {
    if (part.kind !== 'object' && part.kind !== 'list') continue;
    if (level > JSON_DEPTH_MAX) return TOO_DEEP;
    const names = part.kind === 'object' ? part.members.map(({ name }) => textOf(text, name)) : [];
    if (names.some((name) => PROTOTYPE_NAMES.has(name))) return 'has a field that no object may have';
    if (new Set(names).size < names.length) return 'has a field twice in one object';
    const inner = part.kind === 'list' ? part.items : part.members.map(({ value }) => value);
    const fault = firstFaultIn(text, inner, level + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function parsePart(part: string, schema: z.ZodObject, value: unknown): Readonly<Record<string, unknown>> {
  const parsed = schema.safeParse(value, { error: plainWords });
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.flatMap((issue) => faultsOf(part, issue)));
}

function faultsOf(part: string, issue: z.core.$ZodIssue): readonly FieldFault[] {
  const field = [part, ...issue.path.map(String)].join('.');
  if (issue.code !== 'unrecognized_keys') return [{ field, reason: issue.message }];
  return issue.keys.map((name) => ({
    field: `${field}.${nameable(name)}`,
    reason: 'this call takes no such field',
  }));
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid([{ field: 'body', reason: 'is not UTF-8' }]);
  }
}

function isEmptyObject(bytes: Uint8Array): boolean {
  return bytes.byteLength < 10 && /^\s*\{\s*\}\s*$/.test(new TextDecoder().decode(bytes));
}

const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Returns the ids of all projects that a body names, at any depth. */
export function projectIdsIn(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    name === 'project_id' ? [each] : projectIdsIn(each),
  );
}

interface PersonRequest {
  readonly ids: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The request has ids, and no query. */
export function rawRequestOf({ ids, idempotencyKey, body }: PersonRequest): RawRequest {
  const headers = new Headers({
    prefer: 'wait=5',
    ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
  });
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
  return { ids, query: new URLSearchParams(), headers, body: async () => bytes };
}

/** Stops at the first piece beyond the limit: a result of more than `bytesMax` bytes means that the body is too large. */
export function readCapped(request: Request, bytesMax: number): Promise<Uint8Array> {
  return readBounded(request.body as AsyncIterable<Uint8Array> | null, bytesMax);
}

/** The deepest form of the specification has three levels. */
const DEPTH_MAX = 4;

type Tree = { [name: string]: Tree | string };

/** Keeps a text that is no number where a number belongs, so that the schema refuses the field by its name. */
export function parseForm(text: string, schema: z.ZodObject): unknown {
  const root: Tree = Object.create(null) as Tree;
  for (const [name, value] of new URLSearchParams(text)) place(root, name, value);
  return typed(root, schema);
}

/** Keeps a name whole that does not nest properly or occurs twice, so that the schema refuses it as unknown. */
function place(root: Tree, name: string, value: string): void {
  const path = name.split(/[[\]]+/).filter((part) => part !== '');
  if (path.length === 0 || path.length > DEPTH_MAX || !/^[^[\]]+(\[[^[\]]+\])*$/.test(name)) {
    root[name] = value;
    return;
  }
  let inner = root;
  for (const part of path.slice(0, -1)) {
    inner[part] ??= Object.create(null) as Tree;
    const next = inner[part];
    if (typeof next === 'string') {
      root[name] = value;
      return;
    }
    inner = next;
  }
  const last = path.at(-1) ?? '';
  if (last in inner) root[`${name} (twice)`] = value;
  else inner[last] = value;
}

function typed(value: Tree | string, schema: z.ZodType | undefined): unknown {
  const inner = unwrapped(schema);
  if (typeof value === 'string') return typedText(value, inner);
  if (inner instanceof z.ZodArray) {
    return Object.values(value).map((each) => typed(each, inner.element as z.ZodType));
  }
  const shape: Readonly<Record<string, z.ZodType>> = inner instanceof z.ZodObject ? inner.shape : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typed(each, Object.hasOwn(shape, name) ? shape[name] : undefined),
    ]),
  );
}

function typedText(text: string, schema: z.ZodType | undefined): unknown {
  if (schema instanceof z.ZodNumber && /^-?\d{1,12}(\.\d{1,6})?$/.test(text)) return Number(text);
  if (schema instanceof z.ZodBoolean && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

function unwrapped(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
