/**
 * Sends one HTTP request with a permit, the bridge's key and a time-out. It is repeated only when the key was renewed
 * meanwhile.
 */

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Secret } from '../runtime/secret.ts';
import { type HttpAnswer, type SendHttp, sendByFetch } from './http-exchange.ts';
import type { GuardedKeySource, KeySource } from './key-source.ts';
import type { Permit, RequestBudget } from './request-budget.ts';
import { UpstreamError } from './upstream-error.ts';
import { type CallName, cancellation, failure, transportFailure } from './upstream-failure.ts';

export interface Attempt extends CallName {
  /** The status is undefined when no answer came. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

export interface SendDeps {
  /** With a guarded source, a key that the upstream has refused is not sent again. */
  readonly apiKey: KeySource & Partial<Pick<GuardedKeySource, 'isRefused' | 'noteRefused'>>;
  /**
   * Returns false when nothing must be sent any more, because another process may be sending. Without this function
   * every request may leave.
   */
  readonly maySend?: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: RequestBudget;
  /** Sends each request. The default is `fetch`. */
  readonly send?: SendHttp | undefined;
  readonly fetch?: typeof fetch;
  readonly timeoutMs?: number;
  /**
   * Aborts with a `TimeoutError` after this duration. The default is `AbortSignal.timeout`, on the machine's own
   * time.
   */
  readonly timeoutSignal?: (durationMs: number) => AbortSignal;
  readonly onAttempt?: (attempt: Attempt) => void;
}

export interface OutgoingRequest extends CallName {
  readonly url: URL;
  /** This is the body as JSON. When it is undefined, no body is sent. */
  readonly json?: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly permit?: Permit | undefined;
}

/**
 * Makes a result of an answer while its connection is open. Rejects with `UpstreamError` when the answer is not
 * usable.
 */
export type ReadResponse<Result> = (response: HttpAnswer, key: Secret) => Promise<Result>;

/** This is longer than the slowest list that was measured. A connection that is silent for this long is dead. */
export const TIMEOUT_MS = 10_000;

/** A header can carry these characters. Every key that was seen has only letters, digits and `_`. */
const KEY_PATTERN = /^[\x21-\x7e]+$/;

/**
 * A 401 causes one fresh read of the key, which may have been rotated. If the fresh key is the same, it is not sent again. A key
 * that was refused earlier is not sent at all.
 */
export async function sendWithKey<Result>(
  deps: SendDeps,
  request: OutgoingRequest,
  read: ReadResponse<Result>,
): Promise<Result> {
  const { apiKey } = deps;
  const key = await apiKey.current();
  if (apiKey.isRefused?.(key) === true)
    throw failure('unauthorized', { ...nameOf(request), reason: 'the upstream has refused this key before' });
  try {
    return await attemptWith(deps, request, { key, read });
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    const fresh = await apiKey.refresh();
    if (fresh.reveal() === key.reveal()) {
      apiKey.noteRefused?.(key);
      throw error;
    }
    return await attemptWithFresh(deps, request, { key: fresh, read });
  }
}

interface Attempted<Result> {
  readonly key: Secret;
  readonly read: ReadResponse<Result>;
}

async function attemptWithFresh<Result>(
  deps: SendDeps,
  request: OutgoingRequest,
  attempted: Attempted<Result>,
): Promise<Result> {
  try {
    return await attemptWith(deps, request, attempted);
  } catch (error) {
    if (isUnauthorized(error)) deps.apiKey.noteRefused?.(attempted.key);
    throw error;
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'unauthorized';
}

async function attemptWith<Result>(
  deps: SendDeps,
  request: OutgoingRequest,
  { key, read }: Attempted<Result>,
): Promise<Result> {
  const { clock, budget, onAttempt } = deps;
  if (!KEY_PATTERN.test(key.reveal()))
    throw failure('unauthorized', { ...nameOf(request), reason: 'no header can carry this key' });
  if (request.permit?.use() !== true) await orCancelled(request, budget.take(request.signal));
  // This is asked last, because the process may have been frozen while it waited for the key or for its turn.
  if (deps.maySend?.() === false) throw cancellation(nameOf(request));
  const startedAtMs = clock.now();
  let status: number | undefined;
  try {
    const response = await fetchWith(deps, request, key);
    status = response.status;
    return await read(response, key);
  } finally {
    if (status !== undefined && status !== 429 && status < 500) budget.noteAccepted?.();
    onAttempt?.({ ...nameOf(request), status, durationMs: clock.now() - startedAtMs });
  }
}

async function fetchWith(deps: SendDeps, request: OutgoingRequest, key: Secret): Promise<HttpAnswer> {
  const { url, method, json, signal } = request;
  const send = deps.send ?? sendByFetch(deps.fetch, deps.timeoutSignal);
  try {
    return await send({
      method,
      url,
      body: json,
      // The headers are built from nothing, so no header of a caller travels along. No redirect is followed, because it would carry the key elsewhere.
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        accept: 'application/json',
        'user-agent': 'operations-bridge',
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      signal,
      timeoutMs: deps.timeoutMs ?? TIMEOUT_MS,
    });
  } catch (error) {
    throw transportFailure(error, request);
  }
}

/** Returns only the method and the path template, so that nothing else of a request gets into an error. */
export function nameOf({ method, path }: CallName): CallName {
  return { method, path };
}

/** What `wait` rejects with becomes a cancellation when the caller's own signal has aborted. */
export async function orCancelled<T>(
  { method, path, signal }: Pick<OutgoingRequest, 'method' | 'path' | 'signal'>,
  wait: Promise<T>,
): Promise<T> {
  try {
    return await wait;
  } catch (error) {
    throw signal?.aborted ? cancellation({ method, path }) : error;
  }
}
