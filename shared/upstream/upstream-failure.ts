/** Turns every way in which a call can fail into an `UpstreamError` that contains nothing of the request or of the key. */

import { parseRetryAfter } from '../core/rates/retry-decision.ts';
import type { UpstreamErrorKind } from '../core/rates/upstream-error-kind.ts';
import type { Secret } from '../runtime/secret.ts';
import { errorBodySchema } from './calls/schemas.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { UnreadableBody } from './read-json.ts';
import { UpstreamError } from './upstream-error.ts';

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
}

export interface TransportFailure extends CallName {
  readonly signal: AbortSignal | undefined;
  /** This is undefined when not even the head of an answer arrived. */
  readonly response?: HttpAnswer;
}

export interface Refusal extends CallName {
  readonly body: unknown;
  readonly nowMs: number;
  readonly key: Secret;
}

/** The public service sends one of these with every answer, also with refusals, and its support asks for it. */
const REQUEST_ID_HEADERS = ['x-neon-ret-request-id', 'x-request-id'];

/** At most this number of characters of an upstream's message is kept, because a sentence fits into a log line. */
const MESSAGE_CHARACTERS_MAX = 200;

export function failure(kind: UpstreamErrorKind, detail: FailureDetail): UpstreamError {
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
    return failure('timeout', { ...call, reason: 'no whole answer in time', response });
  if (response === undefined) return failure('network', { ...call, reason: 'the connection failed' });
  const reason = thrown instanceof UnreadableBody ? thrown.message : 'the answer ended early';
  return failure('malformed_answer', { ...call, reason, response });
}

export function cancellation({ method, path }: CallName): UpstreamError {
  return failure('cancelled', { method, path, reason: 'the caller gave up' });
}

/** Builds the error of an answer that is not 2xx. The status alone decides its kind, and the body only adds words. */
export function refusal(response: HttpAnswer, { method, path, body, nowMs, key }: Refusal): UpstreamError {
  const parsed = errorBodySchema.safeParse(body);
  const reason = parsed.success ? printable(parsed.data.message, key) : 'no message in the answer';
  const requestId = REQUEST_ID_HEADERS.map((header) => response.headers.get(header)).find((id) => id);
  return failure(kindOf(response.status), {
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
