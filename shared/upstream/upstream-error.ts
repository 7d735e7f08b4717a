/**
 * Turns every way in which a call can fail between the bridge and the upstream into an `UpstreamError` that contains
 * nothing of the request or of the key.
 */

import { parseRetryAfter, type UpstreamErrorKind } from '../rates/retry-decision.ts';
import { AppError } from '../runtime/errors.ts';
import type { Secret } from '../runtime/secret.ts';
import { errorBodySchema } from './calls/schemas.ts';
import { type HttpAnswer, readJson, UnreadableBody } from './pooled-http.ts';

export type { UpstreamErrorKind };

export interface UpstreamFailure {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  /** This is the path's template, without ids or query. */
  readonly path: string;
  readonly message: string;
  readonly status?: number | undefined;
  /** The caller waits for this time from now, as the answer's `Retry-After` says. */
  readonly retryAfterMs?: number | undefined;
  readonly upstreamRequestId?: string | undefined;
  readonly isTooLarge?: boolean;
}

/** The error carries no request, header or body, because errors end up in logs. */
export class UpstreamError extends AppError {
  readonly kind: UpstreamErrorKind;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly upstreamRequestId: string | undefined;
  /** The answer came, and has more bytes than are read. */
  readonly isTooLarge: boolean;

  constructor(failure: UpstreamFailure) {
    super(`upstream_${failure.kind}`, failure.message);
    this.name = 'UpstreamError';
    this.kind = failure.kind;
    this.method = failure.method;
    this.path = failure.path;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.upstreamRequestId = failure.upstreamRequestId;
    this.isTooLarge = failure.isTooLarge ?? false;
  }
}

export function isUpstreamError(thrown: unknown): thrown is UpstreamError {
  return thrown instanceof UpstreamError;
}

/** A shorter text would be found by chance; every key that was seen has dozens of characters. */
const KEY_CHARACTERS_MIN = 12;

/** Looks for the key as it is, as it would stand in a URL, and in base64, as a dump of the request might contain it. */
export function echoesKey(key: Secret, parts: readonly (string | Uint8Array)[]): boolean {
  if (key.reveal().length < KEY_CHARACTERS_MIN) return false;
  const forms = formsOf(key);
  return parts.some((part) => {
    if (typeof part === 'string') return forms.some(({ text }) => part.includes(text));
    const buffer = Buffer.isBuffer(part) ? part : bufferOver(part);
    return forms.some(({ bytes }) => buffer.includes(bytes));
  });
}

/** Every answer is searched, and the forms of a key are made once. They are forgotten together with the key. */
const knownForms = new WeakMap<Secret, readonly Form[]>();

interface Form {
  readonly text: string;
  readonly bytes: Buffer;
}

function formsOf(key: Secret): readonly Form[] {
  const known = knownForms.get(key);
  if (known !== undefined) return known;
  const text = key.reveal();
  const texts = new Set([text, encodeURIComponent(text), ...base64Forms(text)]);
  const forms = [...texts].map((form) => ({ text: form, bytes: Buffer.from(form) }));
  knownForms.set(key, forms);
  return forms;
}

/** The bytes are not copied. */
function bufferOver({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Base64 encodes three bytes at a time, so the key has three forms, by the offset at which it begins. The first and the last
 * letters of each form depend on the bytes beside the key and are cut off.
 */
function base64Forms(text: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/={1,2}$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -1);
  });
}

const API_PATH = '/api/v2';

/** Returns what to do, without a full stop, or undefined when the path is as it should be. No key is worth a look before that. */
export function pathFault(baseUrl: string): string | undefined {
  const { origin, pathname } = new URL(baseUrl);
  if (pathname.replace(/(?<!\/)\/+$/, '').endsWith(API_PATH)) return undefined;
  return `check the address first: its path is ${pathname}, and the API of the service is at ${origin}${API_PATH}`;
}

/** Only one sentence of a refusal is kept, so a proxy's long error page need not be read to its end. */
const REFUSAL_BYTES_MAX = 64_000;

/**
 * `nowMs` is our clock, for a `Retry-After` that is a date. The sentence is left out when the body cannot be read.
 */
export async function refusalOf(
  { method, path }: CallName,
  response: HttpAnswer,
  { key, nowMs }: { readonly key: Secret; readonly nowMs: number },
): Promise<UpstreamError> {
  const body = await readJson(response, REFUSAL_BYTES_MAX).catch(() => undefined);
  return refusal(response, { method, path, body, nowMs, key });
}

/** This names a call without its ids, query and body. */
export interface CallName {
  readonly method: string;
  /** This is the path's template. */
  readonly path: string;
}

export interface FailureDetail extends CallName {
  readonly reason: string;
  readonly response?: HttpAnswer | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly upstreamRequestId?: string | undefined;
  readonly isTooLarge?: boolean;
}

export interface TransportFailure extends CallName {
  readonly signal: AbortSignal | undefined;
  /** This is undefined when not even the head of an answer arrived. */
  readonly response?: HttpAnswer;
}

interface Refusal extends CallName {
  readonly body: unknown;
  readonly nowMs: number;
  readonly key: Secret;
}

/** The public service sends one of these with every answer, also with refusals, and its support asks for it. */
const REQUEST_ID_HEADERS = ['x-neon-ret-request-id', 'x-request-id'];

/** At most this number of characters of an upstream's message is kept, because a sentence fits into a log line. */
const MESSAGE_CHARACTERS_MAX = 200;

export function failureOf(kind: UpstreamErrorKind, detail: FailureDetail): UpstreamError {
  const { method, path, reason, response, ...rest } = detail;
  const answered = response === undefined ? '' : ` answered ${response.status}`;
  const message = `${method} ${path}${answered}: ${reason}`;
  return new UpstreamError({ kind, method, path, message, status: response?.status, ...rest });
}

/** The causes of what `fetch` throws can contain the request, so only the kind of the failure is kept. */
export function transportFailure(
  thrown: unknown,
  { method, path, signal, response }: TransportFailure,
): UpstreamError {
  const call = { method, path };
  if (signal?.aborted) return cancellation(call);
  const name = thrown instanceof Error ? thrown.name : '';
  if (name === 'TimeoutError')
    return failureOf('timeout', { ...call, reason: 'no whole answer in time', response });
  if (response === undefined) return failureOf('network', { ...call, reason: 'the connection failed' });
  if (!(thrown instanceof UnreadableBody))
    return failureOf('malformed_answer', { ...call, reason: 'the answer ended early', response });
  const { message: reason, isTooLarge } = thrown;
  return failureOf('malformed_answer', { ...call, reason, response, isTooLarge });
}

export function cancellation({ method, path }: CallName): UpstreamError {
  return failureOf('cancelled', { method, path, reason: 'the caller gave up' });
}

/** Builds the error of an answer that is not 2xx. The status alone decides its kind, and the body only adds words. */
function refusal(response: HttpAnswer, { method, path, body, nowMs, key }: Refusal): UpstreamError {
  const parsed = errorBodySchema.safeParse(body);
  const reason = parsed.success ? printable(parsed.data.message, key) : 'no message in the answer';
  const requestId = REQUEST_ID_HEADERS.map((header) => response.headers.get(header)).find((id) => id);
  return failureOf(kindOf(response.status), {
    method,
    path,
    reason,
    response,
    retryAfterMs: retryAfterMsOf(response, nowMs),
    upstreamRequestId: requestId ? printable(requestId, key) : undefined,
  });
}

/** Returns how long the upstream asks to wait, or undefined when it does not say so. `nowMs` is our clock. */
export function retryAfterMsOf(response: HttpAnswer, nowMs: number): number | undefined {
  const header = response.headers.get('retry-after');
  // A date is compared with the upstream's own clock if the answer shows it: if ours were ahead, we would come back too early.
  return header === null ? undefined : parseRetryAfter(header, serverDateMsOf(response) ?? nowMs);
}

export function serverDateMsOf(response: HttpAnswer): number | undefined {
  const dateMs = Date.parse(response.headers.get('date') ?? '');
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

function kindOf(status: number): UpstreamErrorKind {
  const kinds: Readonly<Record<number, UpstreamErrorKind>> = {
    401: 'unauthorized',
    403: 'forbidden',
    404: 'not_found',
    423: 'locked',
    429: 'rate_limited',
  };
  return kinds[status] ?? (status >= 500 ? 'unavailable' : 'rejected');
}

/** The upstream's words end up in logs, so they become one bounded line, without the key that a proxy might have echoed. */
function printable(words: string, key: Secret): string {
  return words
    .replaceAll(key.reveal(), '[redacted]')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .slice(0, MESSAGE_CHARACTERS_MAX)
    .toWellFormed();
}
