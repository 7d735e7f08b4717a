/** The upstream over HTTP: typed calls, bounded answers, retries, one budget. The key appears in one header and nowhere else. */

import type * as z from 'zod';
import { decideRetry, parseRetryAfter } from '../core/retry-delay.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Secret } from '../runtime/secret.ts';
import { readJson } from './read-json.ts';
import type { RequestBudget } from './request-budget.ts';
import * as schemas from './schemas.ts';
import type { CallOptions, UpstreamClient } from './upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';

export interface KeySource {
  current(): Promise<Secret>;
  /** One fresh read, past any cache. */
  refresh(): Promise<Secret>;
}

export interface Attempt {
  readonly path: string;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

export interface UpstreamClientOptions {
  /** Ends with `/api/v2`. */
  readonly baseUrl: string;
  readonly apiKey: KeySource;
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: RequestBudget;
  readonly fetch?: typeof fetch;
  readonly timeoutMs?: number;
  readonly onAttempt?: (attempt: Attempt) => void;
}

interface Call<Body> {
  /** Path template, for errors and metrics. */
  readonly path: string;
  readonly url: URL;
  readonly schema: z.ZodType<Body>;
  readonly signal: AbortSignal | undefined;
}

interface Answer<Body> {
  readonly body: Body;
  readonly serverDateMs: number | undefined;
}

/** Longer than the slowest list seen; a connection that is silent for so long is dead. */
const TIMEOUT_MS = 10_000;

const PROJECTS_PATH = '/projects';
const OPERATIONS_PATH = '/projects/{project_id}/operations';
const OPERATION_PATH = '/projects/{project_id}/operations/{operation_id}';

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { baseUrl } = options;
  const keys = shareRefresh(options.apiKey);
  const send = <Body>(call: Call<Body>) => sendWithRetries({ ...options, apiKey: keys }, call);

  return {
    async listProjects(query, { signal }: CallOptions = {}) {
      const url = urlOf(baseUrl, PROJECTS_PATH, {}, query);
      const { body, serverDateMs } = await send({
        path: PROJECTS_PATH,
        url,
        schema: schemas.projectListSchema,
        signal,
      });
      const { rows, malformedRowCount } = schemas.parseRows(body.projects, schemas.projectSchema);
      return {
        projects: rows,
        malformedRowCount,
        cursor: body.pagination?.cursor,
        unavailableProjectIds: body.unavailable_project_ids ?? [],
        serverDateMs,
      };
    },

    async listOperations({ projectId, ...query }, { signal }: CallOptions = {}) {
      const url = urlOf(baseUrl, OPERATIONS_PATH, { project_id: projectId }, query);
      const { body } = await send({
        path: OPERATIONS_PATH,
        url,
        schema: schemas.operationListSchema,
        signal,
      });
      const { rows, malformedRowCount } = schemas.parseRows(
        body.operations,
        schemas.operationSchema(projectId),
      );
      return { operations: rows, malformedRowCount, cursor: body.pagination?.cursor };
    },

    async getOperation({ projectId, operationId }, { signal }: CallOptions = {}) {
      const url = urlOf(baseUrl, OPERATION_PATH, { project_id: projectId, operation_id: operationId }, {});
      const { body } = await send({
        path: OPERATION_PATH,
        url,
        schema: schemas.operationAnswerSchema,
        signal,
      });
      const operation = schemas.operationSchema(projectId).safeParse(body.operation);
      if (operation.success) return operation.data;
      throw failure('malformed_answer', OPERATION_PATH, {
        reason: 'the operation in the answer does not parse',
      });
    },
  };
}

/** Ids go in by pattern only: no dot, slash or percent sign reaches a path. */
function urlOf(
  baseUrl: string,
  path: string,
  ids: { readonly project_id?: string; readonly operation_id?: string },
  query: { readonly limit?: number; readonly cursor?: string },
): URL {
  const isSafe =
    (ids.project_id === undefined || schemas.projectId.safeParse(ids.project_id).success) &&
    (ids.operation_id === undefined || schemas.operationId.safeParse(ids.operation_id).success);
  if (!isSafe)
    throw failure('rejected', path, { reason: 'an id of the request is not of the expected form' });
  const filled = path
    .replace('{project_id}', ids.project_id ?? '')
    .replace('{operation_id}', ids.operation_id ?? '');
  const url = new URL(`${baseUrl.replace(/\/$/, '')}${filled}`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

async function sendWithRetries<Body>(
  options: UpstreamClientOptions,
  call: Call<Body>,
): Promise<Answer<Body>> {
  const { clock, random, budget } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendWithKey(options, call);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, method, status, retryAfterMs } = error;
      if (kind === 'rate_limited' && retryAfterMs !== undefined) budget.pauseFor(retryAfterMs);
      const decision = decideRetry({ attempt, kind, method, status, retryAfterMs, dice: random.next() });
      if (decision.kind === 'give_up') throw error;
      await orCancelled(call, clock.sleep(decision.delayMs, call.signal));
    }
  }
}

/** 401 means one fresh read of the key: it may have been rotated. The same key again would only be refused again. */
async function sendWithKey<Body>(options: UpstreamClientOptions, call: Call<Body>): Promise<Answer<Body>> {
  const key = await options.apiKey.current();
  try {
    return await sendOnce(options, call, key);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.kind !== 'unauthorized') throw error;
    const fresh = await options.apiKey.refresh();
    if (fresh.reveal() === key.reveal()) throw error;
    return sendOnce(options, call, fresh);
  }
}

async function sendOnce<Body>(
  options: UpstreamClientOptions,
  call: Call<Body>,
  key: Secret,
): Promise<Answer<Body>> {
  const { clock, budget, onAttempt } = options;
  await orCancelled(call, budget.take(call.signal));
  const startedAtMs = clock.now();
  let status: number | undefined;
  try {
    const response = await fetchOnce(options, call, key);
    status = response.status;
    return await readAnswer(call, response, clock.now());
  } catch (error) {
    throw error instanceof UpstreamError ? error : transportFailure(call, error);
  } finally {
    onAttempt?.({ path: call.path, status, durationMs: clock.now() - startedAtMs });
  }
}

function fetchOnce<Body>(options: UpstreamClientOptions, call: Call<Body>, key: Secret): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const signal = call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]);
  return (options.fetch ?? fetch)(call.url, {
    method: 'GET',
    // Built from nothing: no header of anybody else travels along, and a redirect would carry the key elsewhere.
    headers: {
      authorization: `Bearer ${key.reveal()}`,
      accept: 'application/json',
      'user-agent': 'operations-bridge',
    },
    redirect: 'error',
    signal,
  });
}

async function readAnswer<Body>(call: Call<Body>, response: Response, nowMs: number): Promise<Answer<Body>> {
  const json = await readJson(response, response.ok ? 'required' : 'optional');
  if (!response.ok) throw refusal(call.path, response, { json, nowMs });
  const parsed = call.schema.safeParse(json);
  if (!parsed.success)
    throw failure('malformed_answer', call.path, { reason: 'the answer has another form', response });
  const dateMs = Date.parse(response.headers.get('date') ?? '');
  return { body: parsed.data, serverDateMs: Number.isNaN(dateMs) ? undefined : dateMs };
}

function refusal(
  path: string,
  response: Response,
  { json, nowMs }: { json: unknown; nowMs: number },
): UpstreamError {
  const body = schemas.errorBodySchema.safeParse(json);
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), nowMs);
  const reason = body.success ? printable(body.data.message) : 'no message in the answer';
  return failure(kindOf(response.status), path, { reason, response, retryAfterMs });
}

function kindOf(status: number): UpstreamErrorKind {
  const kinds: Record<number, UpstreamErrorKind> = {
    401: 'unauthorized',
    403: 'forbidden',
    404: 'not_found',
    423: 'locked',
    429: 'rate_limited',
  };
  return kinds[status] ?? (status >= 500 ? 'unavailable' : 'rejected');
}

/** What `fetch` throws has causes that can hold the request: only its kind goes on. */
function transportFailure<Body>(call: Call<Body>, thrown: unknown): UpstreamError {
  if (call.signal?.aborted) return failure('cancelled', call.path, { reason: 'the caller gave up' });
  const name = thrown instanceof Error ? thrown.name : '';
  if (name === 'TimeoutError') return failure('timeout', call.path, { reason: 'no answer in time' });
  if (name === 'AnswerUnreadable')
    return failure('malformed_answer', call.path, { reason: (thrown as Error).message });
  return failure('network', call.path, { reason: 'the connection failed' });
}

async function orCancelled<Body, T>(call: Call<Body>, wait: Promise<T>): Promise<T> {
  try {
    return await wait;
  } catch {
    throw failure('cancelled', call.path, { reason: 'the caller gave up' });
  }
}

/** On every answer of the public service, also on refusals; their support asks for it. */
const REQUEST_ID_HEADERS = ['x-request-id', 'x-neon-ret-request-id'];

function failure(
  kind: UpstreamErrorKind,
  path: string,
  detail: {
    readonly reason: string;
    readonly response?: Response;
    readonly retryAfterMs?: number | undefined;
  },
): UpstreamError {
  const { reason, response, retryAfterMs } = detail;
  const status = response?.status;
  const upstreamRequestId = REQUEST_ID_HEADERS.map((header) => response?.headers.get(header)).find(
    (id) => id,
  );
  const answered = status === undefined ? '' : ` answered ${status}`;
  const message = `GET ${path}${answered}: ${reason}`;
  return new UpstreamError({
    kind,
    method: 'GET',
    path,
    message,
    status,
    retryAfterMs,
    upstreamRequestId: upstreamRequestId ?? undefined,
  });
}

const MESSAGE_CHARACTERS_MAX = 200;

/** The upstream's words end up in logs: one line, a bounded one. */
function printable(message: string): string {
  return message.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, MESSAGE_CHARACTERS_MAX);
}

/** Many polls meet a revoked key at once: they share one fresh read of it. */
function shareRefresh(source: KeySource): KeySource {
  let underWay: Promise<Secret> | undefined;
  return {
    current: () => source.current(),
    refresh() {
      underWay ??= source.refresh().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}
