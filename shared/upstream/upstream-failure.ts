/** Every way a call can fail, told as an `UpstreamError` without anything of the request or of the key. */

import { parseRetryAfter } from '../core/retry-delay.ts';
import type { Secret } from '../runtime/secret.ts';
import { UnreadableBody } from './read-json.ts';
import { errorBodySchema } from './schemas.ts';
import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';

export interface FailureDetail {
  /** The path's template. */
  readonly path: string;
  readonly reason: string;
  readonly response?: Response | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly upstreamRequestId?: string | undefined;
}

export interface TransportFailure {
  readonly path: string;
  readonly signal: AbortSignal | undefined;
  /** Undefined when not even its head arrived. */
  readonly response?: Response;
}

export interface Refusal {
  readonly path: string;
  readonly body: unknown;
  readonly nowMs: number;
  readonly key: Secret;
}

/** On every answer of the public service, also on refusals; its support asks for it. */
const REQUEST_ID_HEADERS = ['x-neon-ret-request-id', 'x-request-id'];

/** Enough for a sentence of the upstream in a line of a log. */
const MESSAGE_CHARACTERS_MAX = 200;

export function failure(kind: UpstreamErrorKind, detail: FailureDetail): UpstreamError {
  const { path, reason, response, ...rest } = detail;
  const answered = response === undefined ? '' : ` answered ${response.status}`;
  const message = `GET ${path}${answered}: ${reason}`;
  return new UpstreamError({ kind, method: 'GET', path, message, status: response?.status, ...rest });
}

/** What `fetch` throws has causes that can hold the request: only its kind goes on. */
export function transportFailure(
  thrown: unknown,
  { path, signal, response }: TransportFailure,
): UpstreamError {
  if (signal?.aborted) return cancellation(path);
  const name = thrown instanceof Error ? thrown.name : '';
  if (name === 'TimeoutError')
    return failure('timeout', { path, reason: 'no whole answer in time', response });
  if (response === undefined) return failure('network', { path, reason: 'the connection failed' });
  const reason = thrown instanceof UnreadableBody ? thrown.message : 'the answer ended early';
  return failure('malformed_answer', { path, reason, response });
}

export function cancellation(path: string): UpstreamError {
  return failure('cancelled', { path, reason: 'the caller gave up' });
}

/** An answer that is not 2xx, by its status alone: its body only adds words. */
export function refusal(response: Response, { path, body, nowMs, key }: Refusal): UpstreamError {
  const parsed = errorBodySchema.safeParse(body);
  const reason = parsed.success ? printable(parsed.data.message, key) : 'no message in the answer';
  const requestId = REQUEST_ID_HEADERS.map((header) => response.headers.get(header)).find((id) => id);
  // A date counts from the upstream's own clock, when it tells it: ours may be ahead, and would come back too early.
  const retryAfterMs = parseRetryAfter(
    response.headers.get('retry-after'),
    serverDateMsOf(response) ?? nowMs,
  );
  return failure(kindOf(response.status), {
    path,
    reason,
    response,
    retryAfterMs,
    upstreamRequestId: requestId ? printable(requestId, key) : undefined,
  });
}

export function serverDateMsOf(response: Response): number | undefined {
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

/** The upstream's words end up in logs: one bounded line, without the key, should a proxy echo the request. */
function printable(words: string, key: Secret): string {
  return words
    .replaceAll(key.reveal(), '[redacted]')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .slice(0, MESSAGE_CHARACTERS_MAX)
    .toWellFormed();
}
