/**
 * Turns one call of a caller into a request, of which each id, the query and the body are checked, and passes it on
 * to the upstream. The answer comes back unchanged, whatever its status.
 */

import assert from 'node:assert/strict';
import type { Caller } from '../callers/scopes.ts';
import { callerPauseMs, isPassingRefusal } from '../rates/retry-decision.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Call, TableCall } from './calls/call.ts';
import { idSchemaOf } from './calls/schemas.ts';
import { readBytes } from './pooled-http.ts';
import { type OutgoingRequest, type ReadResponse, type SendDeps, sendWithKey } from './send-with-key.ts';
import {
  echoesKey,
  failureOf,
  isUpstreamError,
  refusalOf,
  retryAfterMsOf,
  transportFailure,
  type UpstreamError,
} from './upstream-error.ts';

/** These are the parts of a request, for any call of the table. */
export interface RequestParts {
  /** The ids stand under their names in the path template. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object;
  /** The same body as its author wrote it: other programs know numbers that JavaScript does not keep. */
  readonly json?: string | undefined;
  /** The application that asks for it calls itself this. */
  readonly userAgent?: string | undefined;
  /** W3C Trace Context of the caller's request. */
  readonly traceparent?: string | undefined;
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
  const { userAgent, traceparent } = request;
  return {
    method,
    path,
    url: urlOf(base, call, request),
    json: bodyOf(call, request),
    userAgent,
    traceparent,
  };
}

function urlOf(base: URL, call: Call, { ids = {}, query }: RequestParts): URL {
  const { origin, prefix } = placeOf(base);
  const pathname = `${prefix}${fill(call, ids)}`;
  const url = new URL(`${origin}${pathname}`);
  // If the pattern of an id ever allowed a dot or a slash, the URL parser would rewrite the path. This check stops
  // such a request.
  assert(url.origin === origin && url.pathname === pathname, `${call.path} became another path`);
  const parameters = checked(call, 'query', call.query, query ?? {}) === undefined ? {} : query;
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

function bodyOf(call: Call, { body, json }: RequestParts): string | undefined {
  if ((body === undefined && call.isBodyOptional) || json === '') return undefined;
  const parsed = checked(call, 'body', call.body, body ?? {});
  return parsed && (json ?? JSON.stringify(parsed));
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
  return failureOf('rejected', { method, path, reason });
}

export interface ForwardedAnswer {
  readonly status: number;
  /** Only these headers mean the same to the caller as to the bridge. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ForwardOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The caller waits for this time at the most, and no repetition is sent later. With 0 the first answer is final.
   */
  readonly patienceMs: number;
  /**
   * This is called before the pause that precedes a repetition, with the status of the refusal. When it returns
   * false, the refusal is the answer.
   */
  readonly mayWait?: (status: number) => Promise<boolean>;
  /**
   * Takes a permit for a repetition when it is about to be sent, and waits for the permit no longer than this. When
   * it returns false, the refusal is the answer.
   */
  readonly mayRepeat?: (patienceMs: number) => Promise<boolean>;
  /** This is called when the answer contains the bridge's key. Such an answer is not passed on. */
  readonly onKeyEchoed?: () => void;
}

/** A caller can use these headers. Every other header is about the connection between the bridge and the upstream. */
const PASSED_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/**
 * The answer of a function has at most six megabytes (AWS Lambda quotas), in which what is not text stands in base64. The
 * largest list that was measured has a third of a megabyte.
 */
export const ANSWER_BYTES_MAX = 4_500_000;

/**
 * Rejects with `UpstreamError` when there is no answer to pass on: the request was not sent, the connection failed, the time-out
 * passed, the answer is too large, or it is a 401, which is about the bridge's own key. A mutation whose answer was lost is not sent
 * again. When the signal aborts a pause, the last refusal is the answer.
 */
export async function forward(
  deps: CallDeps,
  call: Call,
  request: RequestParts,
  options: ForwardOptions,
): Promise<ForwardedAnswer> {
  const { signal, patienceMs, mayWait = async () => true, mayRepeat = async () => true } = options;
  const { clock, budget, random } = deps;
  const outgoing = { ...outgoingRequest(deps.base, call, request), signal };
  const untilMs = clock.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const { answer, retryAfterMs } = await sendWithKey(deps, outgoing, readWhole(deps, call, options));
    if (!isPassingRefusal(answer.status)) return answer;
    if (answer.status === 429 && retryAfterMs !== undefined) budget.pauseFor(retryAfterMs);
    const pauseMs = callerPauseMs({ attempt, retryAfterMs, dice: random.next() });
    if (clock.now() + pauseMs > untilMs) return answer;
    if (!(await mayWait(answer.status))) return answer;
    await clock.sleep(pauseMs, signal).catch(() => {});
    if (signal?.aborted) return answer;
    if (!(await mayRepeat(untilMs - clock.now()))) return answer;
  }
}

interface Whole {
  readonly answer: ForwardedAnswer;
  readonly retryAfterMs: number | undefined;
}

function readWhole(
  { clock }: CallDeps,
  { method, path }: Call,
  { onKeyEchoed }: ForwardOptions,
): ReadResponse<Whole> {
  return async (response, key) => {
    const nowMs = clock.now();
    if (response.status === 401) throw await refusalOf({ method, path }, response, { key, nowMs });
    const retryAfterMs = retryAfterMsOf(response, nowMs);
    const body = await readBytes(response, ANSWER_BYTES_MAX).catch((error: unknown) => {
      throw transportFailure(error, { method, path, signal: undefined, response });
    });
    const headers: Record<string, string> = {};
    for (const name of PASSED_HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    if (echoesKey(key, [body, ...Object.values(headers)])) {
      onKeyEchoed?.();
      throw failureOf('malformed_answer', { method, path, reason: 'the answer repeats our key', response });
    }
    return { answer: { status: response.status, headers, body }, retryAfterMs };
  };
}

/** This is a call that may be passed on, with what the bridge itself has to know of it. */
export interface ForwardableCall {
  /** The call has this name in the table of calls or in the configuration, for scopes, audit and log. */
  readonly id: string;
  readonly call: Call;
  /** The answer may hold a secret, so it is not kept for a repetition. */
  readonly isSecret: boolean;
  /**
   * `connection` says that callers with `connection:read` see the secrets of its answer. `issued` says that every
   * caller who may send the call sees them.
   */
  readonly shows?: TableCall['shows'];
}

interface CallRequest {
  /** This id is unique. The audit, the events and the log name the request by it. */
  readonly requestId: string;
  readonly target: ForwardableCall;
  /** The ids stand under their names in the path. Each was checked by its pattern. */
  readonly ids: Readonly<Record<string, string>>;
  /** The query was checked by the schema of the call. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The body was checked by the schema of the call. It is undefined when the call takes none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The same body as its caller wrote it, in which it is sent. */
  readonly json?: string | undefined;
  /** The application calls itself this. A command that waits in line loses it. */
  readonly userAgent?: string | undefined;
  /** W3C Trace Context of the caller's request. It is passed along and never trusted for anything. */
  readonly traceparent?: string | undefined;
}

/** This is a request that changes something. */
export interface CommandRequest extends CallRequest {
  readonly caller: Pick<Caller, 'account_id' | 'generation' | 'client_id'>;
  /** The caller sent the key in this form. When it is undefined, the same request sent again is another command. */
  readonly idempotencyKey: string | undefined;
  /** The Idempotency-Key is remembered for this long, or for a day. */
  readonly keptForMs?: number;
  /** Nothing will become of this request, so its Idempotency-Key is free for this one. */
  readonly replaces?: string | undefined;
}

/** Returns the project of the path, or the one that some calls of the specification name in the body. */
export function namedProjectOf({ ids, body }: CallRequest): string | undefined {
  const named = ids['project_id'] ?? body?.['project_id'];
  return typeof named === 'string' ? named : undefined;
}

/** These options say how long a refusal is waited out, and what is asked first. */
export interface Waiting extends Omit<ForwardOptions, 'onKeyEchoed'> {
  /** This is called when nothing is waited for any more, whether or not `mayWait` was asked. */
  readonly endWait?: () => Promise<void>;
}

export interface ForwardCallDeps {
  readonly upstream: CallDeps;
  readonly telemetry: Telemetry;
}

export type CallResult =
  | { readonly kind: 'answered'; readonly answer: ForwardedAnswer }
  /** No answer can be passed on. Whether the upstream did what it was asked for is another question. */
  | { readonly kind: 'unanswered'; readonly failure: UpstreamError };

/**
 * Rejects only with what is not a failure of the upstream: the key's secret cannot be read, or `mayWait` rejected.
 */
export async function forwardCall(
  { upstream, telemetry }: ForwardCallDeps,
  { target: { id, call }, requestId, ids, query, body, json, userAgent, traceparent }: CallRequest,
  waiting: Waiting,
): Promise<CallResult> {
  const onKeyEchoed = () => {
    telemetry.measure('KeyEchoed', 1);
    telemetry.log('error', 'upstream.key_echoed', { request_id: requestId, call: id });
  };
  try {
    const parts = { ids, query, json, userAgent, traceparent, ...(body && { body }) };
    return {
      kind: 'answered',
      answer: await forward(upstream, call, parts, { ...waiting, onKeyEchoed }),
    };
  } catch (error) {
    if (isUpstreamError(error)) return { kind: 'unanswered', failure: error };
    throw error;
  } finally {
    await waiting.endWait?.();
  }
}

/** The upstream refused the bridge's own key, or the bridge did not send it: the command was not carried out. */
export function hadNoEffect({ kind }: UpstreamError): boolean {
  return kind === 'unauthorized';
}
