/**
 * Turns one call of the table into a request. The ids in its path, its query and its body are each checked before
 * anything is sent.
 */

import assert from 'node:assert/strict';
import type { Call } from './calls/call.ts';
import { idSchemaOf } from './calls/ids.ts';
import type { OutgoingRequest, SendDeps } from './send-with-key.ts';
import { failure } from './upstream-failure.ts';

/** These are the parts of a request, for any call of the table. */
export interface RequestParts {
  /** The ids stand under their names in the path template. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object;
}

export interface CallDeps extends SendDeps {
  /** The URL ends with `/api/v2`. */
  readonly base: URL;
}

/**
 * Throws `UpstreamError` of kind `rejected`, without a status, when an id or a field has a wrong form. Nothing is
 * sent then.
 */
export function outgoingRequest(
  base: URL,
  call: Call,
  request: RequestParts,
): Omit<OutgoingRequest, 'signal' | 'permit'> {
  const { method, path } = call;
  return { method, path, url: urlOf(base, call, request), json: bodyOf(call, request) };
}

function urlOf(base: URL, call: Call, { ids = {}, query }: RequestParts): URL {
  const { origin, prefix } = placeOf(base);
  const pathname = `${prefix}${fill(call, ids)}`;
  const url = new URL(`${origin}${pathname}`);
  // If the pattern of an id ever allowed a dot or a slash, the URL parser would rewrite the path. This check stops
  // such a request.
  assert(url.origin === origin && url.pathname === pathname, `${call.path} became another path`);
  const parameters = checked(call, 'query', call.query, query ?? {});
  for (const [name, value] of Object.entries(parameters ?? {})) {
    // A parameter that was sent several times is sent on as often.
    for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each));
  }
  return url;
}

/** A `URL` makes its parts anew each time that they are asked for, and the base of an account is the same for all its requests. */
const knownPlaces = new WeakMap<URL, { readonly origin: string; readonly prefix: string }>();

function placeOf(base: URL): { readonly origin: string; readonly prefix: string } {
  const known = knownPlaces.get(base);
  if (known !== undefined) return known;
  const place = { origin: base.origin, prefix: base.pathname.replace(/\/$/, '') };
  knownPlaces.set(base, place);
  return place;
}

/** A path taken apart: the text before the first placeholder, and each placeholder's name with the text behind it. */
interface Template {
  readonly start: string;
  readonly places: readonly { readonly name: string; readonly text: string }[];
}

/** A few hundred calls are sent again and again, and taking a path apart takes longer than filling it. */
const templates = new WeakMap<Call, Template>();

function templateOf(call: Call): Template {
  const known = templates.get(call);
  if (known !== undefined) return known;
  const [start = '', ...rest] = call.path.split('{');
  const places = rest.map((part) => {
    const [name = '', text = ''] = part.split('}');
    return { name, text };
  });
  const template = { start, places };
  templates.set(call, template);
  return template;
}

function fill(call: Call, ids: Readonly<Record<string, string>>): string {
  const { start, places } = templateOf(call);
  let path = start;
  for (const { name, text } of places) {
    const id = idSchemaOf(name).safeParse(ids[name]);
    if (!id.success) throw rejection(call, `the ${name} is not of the expected form`);
    path += encodeURIComponent(id.data) + text;
  }
  return path;
}

function bodyOf(call: Call, { body }: RequestParts): string | undefined {
  if (body === undefined && call.isBodyOptional) return undefined;
  const parsed = checked(call, 'body', call.body, body ?? {});
  return parsed === undefined ? undefined : JSON.stringify(parsed);
}

/** The error names the fields at fault and never their values, because a value may be a secret. */
function checked(call: Call, part: string, schema: Call['body'], value: object): object | undefined {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || '(all of it)');
  throw rejection(call, `the ${part} is not of the expected form; look at: ${fields.join(', ')}`);
}

function rejection({ method, path }: Call, reason: string) {
  return failure('rejected', { method, path, reason });
}
