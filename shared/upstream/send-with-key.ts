/** Defines where the upstream's key comes from, and how concurrent callers share one fresh read of it. */

import type * as z from 'zod';
import { decideRetry } from '../rates/retry-decision.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Secret } from '../runtime/secret.ts';
import { type HttpAnswer, readJson, type SendHttp, sendByFetch } from './pooled-http.ts';
import type { Permit, RequestBudget } from './request-budget.ts';
import {
  type CallName,
  cancellation,
  failureOf,
  refusalOf,
  serverDateMsOf,
  transportFailure,
  UpstreamError,
} from './upstream-error.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** Reads the key again, past any cache. */
  refresh(): Promise<Secret>;
}

/** Remembers the key that the upstream has refused, so that it is not sent again. */
export interface GuardedKeySource extends KeySource {
  isRefused(key: Secret): boolean;
  noteRefused(key: Secret): void;
  /** Reads the key again, and says whether it is one that the upstream has not refused. */
  hasAnother(): Promise<boolean>;
}

export function guardKey(source: KeySource): GuardedKeySource {
  let refused: Secret | undefined;
  const isRefused = (key: Secret) => key.reveal() === refused?.reveal();
  return {
    current: () => source.current(),
    refresh: () => source.refresh(),
    isRefused,
    noteRefused(key) {
      refused = key;
    },
    hasAnother: async () => !isRefused(await source.refresh()),
  };
}

/** Many polls meet a revoked key at once. Those that ask while a fresh read is under way wait for that read. */
export function shareRefresh<Source extends KeySource>(source: Source): Source {
  let underWay: Promise<Secret> | undefined;
  return {
    ...source,
    current: () => source.current(),
    refresh() {
      underWay ??= source.refresh().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}

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
  /** The application that asks for it calls itself this. */
  readonly userAgent?: string | undefined;
  /** W3C Trace Context of the caller's request. */
  readonly traceparent?: string | undefined;
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
    throw failureOf('unauthorized', {
      ...nameOf(request),
      reason: 'the upstream has refused this key before',
    });
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
    throw failureOf('unauthorized', { ...nameOf(request), reason: 'no header can carry this key' });
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
  const { url, method, json, userAgent, traceparent, signal } = request;
  const send = deps.send ?? sendByFetch(deps.fetch, deps.timeoutSignal);
  try {
    return await send({
      method,
      url,
      body: json,
      // The headers are built from nothing: of a caller's, only the name of its program and its trace travel along. No redirect is followed, because it would carry the key elsewhere.
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        accept: 'application/json',
        'user-agent': userAgentOf(userAgent),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(traceparent !== undefined && { traceparent }),
      },
      signal,
      timeoutMs: deps.timeoutMs ?? TIMEOUT_MS,
    });
  } catch (error) {
    throw transportFailure(error, request);
  }
}

const OWN_NAME = 'operations-bridge';

/** The names that are known have less than a hundred characters. */
const USER_AGENT_CHARACTERS_MAX = 200;

/** The upstream sees the bridge first, and behind it the application, as far as a header can carry its name. */
function userAgentOf(application = ''): string {
  const name = application
    .slice(0, USER_AGENT_CHARACTERS_MAX)
    .replace(/[^\x20-\x7e]/g, '')
    .trim();
  return name === '' ? OWN_NAME : `${OWN_NAME} ${name}`;
}

/** Returns only the method and the path template, so that nothing else of a request gets into an error. */
function nameOf({ method, path }: CallName): CallName {
  return { method, path };
}

/** What `wait` rejects with becomes a cancellation when the caller's own signal has aborted. */
async function orCancelled<T>({ method, path, signal }: OutgoingRequest, wait: Promise<T>): Promise<T> {
  try {
    return await wait;
  } catch (error) {
    throw signal?.aborted ? cancellation({ method, path }) : error;
  }
}

export interface ParsedRequest<Body> extends OutgoingRequest {
  /** This is the schema of a success. */
  readonly schema: z.ZodType<Body>;
  /** Reads the text of a success as JSON. It is called once for each answer, and throws `SyntaxError` like `JSON.parse`. */
  readonly decode?: ((text: string) => unknown) | undefined;
  /** Others wait behind the request, so after a time-out it is not repeated. */
  readonly endsAtTimeout?: boolean | undefined;
}

export interface ParsedAnswer<Body> {
  readonly body: Body;
  /**
   * This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. It is undefined when the
   * answer has no such header.
   */
  readonly serverDateMs: number | undefined;
}

/** A list of a thousand operations has a third of a megabyte. */
export const ANSWER_BYTES_MAX = 5_000_000;

/**
 * Rejects with `UpstreamError`, after the repetitions that `decideRetry` allows for its kind. When the caller gives up after the upstream
 * has failed, the error is that failure: an invocation that ends before the last repetition must not hide it.
 */
export async function sendAndParse<Body>(
  deps: SendDeps,
  request: ParsedRequest<Body>,
): Promise<ParsedAnswer<Body>> {
  const { clock, random, budget } = deps;
  const read: ReadResponse<ParsedAnswer<Body>> = async (response, key) => {
    if (response.ok) return readAnswer(request, response);
    throw await refusalOf(request, response, { key, nowMs: clock.now() });
  };
  let failed: UpstreamError | undefined;
  let delayMs = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1) await orCancelled(request, clock.sleep(delayMs, request.signal));
      return await sendWithKey(deps, request, read);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, method, status, retryAfterMs } = error;
      if (kind === 'cancelled') throw failed ?? error;
      if (kind === 'rate_limited') budget.pauseFor(retryAfterMs ?? 0);
      const decision = decideRetry({ attempt, kind, method, status, retryAfterMs, dice: random.next() });
      if (decision.kind === 'give_up' || (kind === 'timeout' && request.endsAtTimeout)) throw error;
      if (kind === 'unavailable') failed = error;
      delayMs = decision.delayMs;
    }
  }
}

async function readAnswer<Body>(
  request: ParsedRequest<Body>,
  response: HttpAnswer,
): Promise<ParsedAnswer<Body>> {
  const { signal, schema, decode } = request;
  const json = await readJson(response, ANSWER_BYTES_MAX, decode).catch((error: unknown) => {
    throw transportFailure(error, { ...nameOf(request), signal, response });
  });
  const parsed = schema.safeParse(json);
  if (parsed.success) return { body: parsed.data, serverDateMs: serverDateMsOf(response) };
  throw failureOf('malformed_answer', {
    ...nameOf(request),
    reason: 'the answer has another form',
    response,
  });
}
