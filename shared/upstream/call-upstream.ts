/** One call of the table: ids into the path, the query, the body with its secrets revealed, and the answer parsed. */

import assert from 'node:assert/strict';
import type { Secret } from '../runtime/secret.ts';
import type { Call } from './calls/call.ts';
import type { AnswerOf } from './calls/calls.ts';
import { idSchemaOf } from './calls/ids.ts';
import { type Answer, type OutgoingRequest, type SendDeps, send } from './send.ts';
import type { CallOptions } from './upstream-client.ts';
import { failure } from './upstream-failure.ts';

/** The parts of a request, whatever its call. */
export interface LooseRequest {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object;
}

export interface CallDeps extends SendDeps {
  /** Ends with `/api/v2`. */
  readonly base: URL;
}

/** Rejects with `UpstreamError`; of kind `rejected` without a status when an id or a field is not of its form. */
export async function callUpstream<C extends Call>(
  deps: CallDeps,
  call: C,
  request: LooseRequest,
  { signal, permit }: CallOptions = {},
): Promise<Answer<AnswerOf<C>>> {
  const outgoing = outgoingRequest(deps.base, call, request);
  return send<AnswerOf<C>>(deps, { ...outgoing, schema: call.answer as never, signal, permit });
}

/** Throws `UpstreamError` of kind `rejected` when an id or a field is not of its form: then nothing is sent. */
export function outgoingRequest(
  base: URL,
  call: Call,
  request: LooseRequest,
): Omit<OutgoingRequest, 'signal' | 'permit'> {
  const { method, path } = call;
  return { method, path, url: urlOf(base, call, request), json: bodyOf(call, request) };
}

function urlOf(base: URL, call: Call, { ids = {}, query }: LooseRequest): URL {
  const pathname = `${base.pathname.replace(/\/$/, '')}${fill(call, ids)}`;
  const url = new URL(`${base.origin}${pathname}`);
  // Should an id's pattern ever let a dot or a slash through: what is sent is what was built.
  assert(url.origin === base.origin && url.pathname === pathname, `${call.path} became another path`);
  const parameters = checked(call, 'query', call.query, query ?? {});
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function fill(call: Call, ids: Readonly<Record<string, string>>): string {
  return call.path.replace(/\{(\w+)\}/g, (_placeholder, name: string) => {
    const id = idSchemaOf(name).safeParse(ids[name]);
    if (!id.success) throw rejection(call, `the ${name} is not of the expected form`);
    return id.data;
  });
}

function bodyOf(call: Call, { body }: LooseRequest): string | undefined {
  const parsed = checked(call, 'body', call.body, revealed(body ?? {}) as object);
  return parsed === undefined ? undefined : JSON.stringify(parsed);
}

/** Names the fields at fault, never their values: one of them may be a secret. */
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

/** The only place where the secrets of a body become text, on their way out. */
function revealed(value: unknown): unknown {
  if (isSecret(value)) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revealed(each)]));
}

function isSecret(value: unknown): value is Secret {
  return (
    typeof value === 'object' && value !== null && 'reveal' in value && typeof value.reveal === 'function'
  );
}
