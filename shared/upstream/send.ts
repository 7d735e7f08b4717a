/** One call over HTTP: a permit for every attempt, the key, the time-out, and repetitions. */

import type * as z from 'zod';
import { decideRetry } from '../core/rates/retry-delay.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Secret } from '../runtime/secret.ts';
import type { GuardedKeySource, KeySource } from './key-source.ts';
import { readJson } from './read-json.ts';
import type { Permit, RequestBudget } from './request-budget.ts';
import { UpstreamError } from './upstream-error.ts';
import {
  type CallName,
  cancellation,
  failure,
  refusal,
  serverDateMsOf,
  transportFailure,
} from './upstream-failure.ts';

export interface Attempt extends CallName {
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

export interface SendDeps {
  /** Guarded: a key that the upstream has refused is not sent again. */
  readonly apiKey: KeySource & Partial<Pick<GuardedKeySource, 'isRefused' | 'noteRefused'>>;
  /** False: nothing may be sent any more, because another process may be sending. Undefined: always. */
  readonly maySend?: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: RequestBudget;
  readonly fetch?: typeof fetch;
  readonly timeoutMs?: number;
  /** Aborts with a `TimeoutError` after so many milliseconds; default: on the machine's own time. */
  readonly timeoutSignal?: (durationMs: number) => AbortSignal;
  readonly onAttempt?: (attempt: Attempt) => void;
}

export interface OutgoingRequest extends CallName {
  readonly url: URL;
  /** JSON; undefined: nothing is sent. */
  readonly json?: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly permit?: Permit | undefined;
}

export interface OutgoingCall<Body> extends OutgoingRequest {
  readonly schema: z.ZodType<Body>;
}

/** What is made of an answer while its connection is open; rejects with `UpstreamError` when it is none. */
export type ReadResponse<Result> = (response: Response, key: Secret) => Promise<Result>;

export interface Answer<Body> {
  readonly body: Body;
  readonly serverDateMs: number | undefined;
}

/** Longer than the slowest list seen; a connection that is silent for so long is dead. */
export const TIMEOUT_MS = 10_000;

/** A thousand operations are a third of a megabyte. */
export const ANSWER_BYTES_MAX = 5_000_000;

/** Of a refusal only one sentence is kept; a proxy's error page need not be read to its end. */
const REFUSAL_BYTES_MAX = 64_000;

/** What a header can carry; every key seen is made of letters, digits and `_`. */
const KEY_PATTERN = /^[\x21-\x7e]+$/;

export async function send<Body>(deps: SendDeps, call: OutgoingCall<Body>): Promise<Answer<Body>> {
  const { clock, random, budget } = deps;
  const read: ReadResponse<Answer<Body>> = async (response, key) => {
    if (response.ok) return readAnswer(call, response);
    throw await refusalOf(call, response, { key, nowMs: clock.now() });
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendWithKey(deps, call, read);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, method, status, retryAfterMs } = error;
      if (kind === 'rate_limited') budget.pauseFor(retryAfterMs ?? 0);
      const decision = decideRetry({ attempt, kind, method, status, retryAfterMs, dice: random.next() });
      if (decision.kind === 'give_up') throw error;
      await orCancelled(call, clock.sleep(decision.delayMs, call.signal));
    }
  }
}

/**
 * 401 means one fresh read of the key: it may have been rotated. The same key would only be refused again, and a key that
 * was refused before is not sent at all.
 */
export async function sendWithKey<Result>(
  deps: SendDeps,
  call: OutgoingRequest,
  read: ReadResponse<Result>,
): Promise<Result> {
  const { apiKey } = deps;
  const key = await apiKey.current();
  if (apiKey.isRefused?.(key) === true)
    throw failure('unauthorized', { ...nameOf(call), reason: 'the upstream has refused this key before' });
  try {
    return await sendOnce(deps, call, { key, read });
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    const fresh = await apiKey.refresh();
    if (fresh.reveal() === key.reveal()) {
      apiKey.noteRefused?.(key);
      throw error;
    }
    return await sendFresh(deps, call, { key: fresh, read });
  }
}

async function sendFresh<Result>(
  deps: SendDeps,
  call: OutgoingRequest,
  { key, read }: { readonly key: Secret; readonly read: ReadResponse<Result> },
): Promise<Result> {
  try {
    return await sendOnce(deps, call, { key, read });
  } catch (error) {
    if (isUnauthorized(error)) deps.apiKey.noteRefused?.(key);
    throw error;
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'unauthorized';
}

async function sendOnce<Result>(
  deps: SendDeps,
  call: OutgoingRequest,
  { key, read }: { readonly key: Secret; readonly read: ReadResponse<Result> },
): Promise<Result> {
  const { clock, budget, onAttempt } = deps;
  if (!KEY_PATTERN.test(key.reveal()))
    throw failure('unauthorized', { ...nameOf(call), reason: 'no header can carry this key' });
  if (call.permit?.use() !== true) await orCancelled(call, budget.take(call.signal));
  // Asked last: the process may have been frozen while it waited for the key or for its turn.
  if (deps.maySend?.() === false) throw cancellation(nameOf(call));
  const startedAtMs = clock.now();
  let status: number | undefined;
  try {
    const response = await fetchOnce(deps, call, key);
    status = response.status;
    return await read(response, key);
  } finally {
    if (status !== undefined && status !== 429 && status < 500) budget.noteAccepted?.();
    onAttempt?.({ ...nameOf(call), status, durationMs: clock.now() - startedAtMs });
  }
}

async function fetchOnce(deps: SendDeps, call: OutgoingRequest, key: Secret): Promise<Response> {
  const timeoutMs = deps.timeoutMs ?? TIMEOUT_MS;
  const timeout = deps.timeoutSignal?.(timeoutMs) ?? AbortSignal.timeout(timeoutMs);
  const signal = call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]);
  try {
    return await (deps.fetch ?? fetch)(call.url, {
      method: call.method,
      ...(call.json === undefined ? {} : { body: call.json }),
      // Built from nothing: no header of anybody else travels along, and a redirect would carry the key elsewhere.
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        accept: 'application/json',
        'user-agent': 'operations-bridge',
        ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      signal,
    });
  } catch (error) {
    throw transportFailure(error, call);
  }
}

/** A refusal with what its body says, as far as that is a sentence. */
export async function refusalOf(
  call: CallName,
  response: Response,
  { key, nowMs }: { readonly key: Secret; readonly nowMs: number },
): Promise<UpstreamError> {
  const body = await readJson(response, REFUSAL_BYTES_MAX).catch(() => undefined);
  return refusal(response, { ...nameOf(call), body, nowMs, key });
}

async function readAnswer<Body>(call: OutgoingCall<Body>, response: Response): Promise<Answer<Body>> {
  const { signal, schema } = call;
  const json = await readJson(response, ANSWER_BYTES_MAX).catch((error: unknown) => {
    throw transportFailure(error, { ...nameOf(call), signal, response });
  });
  const parsed = schema.safeParse(json);
  if (parsed.success) return { body: parsed.data, serverDateMs: serverDateMsOf(response) };
  throw failure('malformed_answer', { ...nameOf(call), reason: 'the answer has another form', response });
}

function nameOf({ method, path }: CallName): CallName {
  return { method, path };
}

async function orCancelled<T>({ method, path, signal }: OutgoingRequest, wait: Promise<T>): Promise<T> {
  try {
    return await wait;
  } catch (error) {
    throw signal?.aborted ? cancellation({ method, path }) : error;
  }
}
