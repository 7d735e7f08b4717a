/**
 * Sends HTTP requests over a bounded number of sockets that stay open between them, which takes a fourth of the
 * processor time, and reads answers with a bound on their bytes.
 */

import type * as http from 'node:http';
import type * as https from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { readBounded } from '../runtime/foreign-text.ts';
import { once } from '../runtime/on-demand.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** It is undefined when the request has no body. */
  readonly body: string | undefined;
  /** It aborts when the caller gives up. */
  readonly signal: AbortSignal | undefined;
  /** The whole exchange, with the body of the answer, must end within this time. */
  readonly timeoutMs: number;
}

/** `Response` of the Fetch standard is one. */
export interface HttpAnswer {
  readonly status: number;
  /** The status is 200 to 299. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  /** The bytes are unpacked already. Reading rejects when the exchange breaks off, is aborted, or takes too long. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Resolves when the head of the answer is there. It follows no redirect and rejects instead. After `timeoutMs` it rejects
 * with an error whose name is `TimeoutError`.
 */
export type SendHttp = (request: HttpRequest) => Promise<HttpAnswer>;

/** Sends reads in one way and everything else in another. Only a read may be sent twice. */
export function sendByKind(sendRead: SendHttp, sendOther: SendHttp): SendHttp {
  return (request) => (request.method === 'GET' ? sendRead(request) : sendOther(request));
}

/** Aborts with a `TimeoutError` after this duration. */
type TimeoutSignal = (durationMs: number) => AbortSignal;

/** The defaults are those of the machine. */
export function sendByFetch(
  send: typeof fetch = fetch,
  timeoutSignal: TimeoutSignal = (durationMs) => AbortSignal.timeout(durationMs),
): SendHttp {
  return ({ url, method, headers, body, signal, timeoutMs }) => {
    const timeout = timeoutSignal(timeoutMs);
    return send(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
  };
}

/** The message says what is wrong with the body and contains nothing of it. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
  readonly isTooLarge: boolean;

  constructor(message: string, isTooLarge = false) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/**
 * Undefined when there is no body, as after 204. Rejects with `UnreadableBody` when the body is too large or not JSON, and with the
 * stream's error when it breaks off.
 */
export async function readJson(
  response: HttpAnswer,
  bytesMax: number,
  decode: (text: string) => unknown = JSON.parse,
): Promise<unknown> {
  const text = await readText(response, bytesMax);
  if (text === '') return undefined;
  try {
    return decode(text);
  } catch {
    throw new UnreadableBody('the answer is not JSON');
  }
}

/** Decodes whole texts only, so it keeps nothing between two of them. */
const UTF_8 = new TextDecoder();

async function readText(response: HttpAnswer, bytesMax: number): Promise<string> {
  return UTF_8.decode(await readBytes(response, bytesMax));
}

/**
 * Returns the whole body, at most `bytesMax` bytes after decompression. Rejects with `UnreadableBody` when it is
 * larger.
 */
export async function readBytes(response: HttpAnswer, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readBounded(response.body, bytesMax);
  if (bytes.byteLength > bytesMax)
    throw new UnreadableBody(`the answer is larger than ${bytesMax} bytes`, true);
  return bytes;
}

/**
 * An `import` of these modules reads all that they export, with the whole of `fetch` and of WebSocket among it, which takes a
 * cold start 15 ms. They are loaded with the first request.
 */
const modules = once(() => ({
  http: process.getBuiltinModule('node:http'),
  https: process.getBuiltinModule('node:https'),
}));

export interface PooledHttp {
  readonly send: SendHttp;
  /**
   * Sends a read, which may be sent twice: once more over a new socket when the server had closed the one that had been
   * kept. Lambda freezes a process between two requests, and the process cannot see in time what was closed meanwhile.
   */
  readonly sendRead: SendHttp;
  /** Closes the sockets that no request uses. */
  readonly close: () => void;
}

/** Unused sockets beyond this number are closed. A lane of a hundred small accounts uses about ten at once. */
const IDLE_SOCKETS_MAX = 64;

/** A server may close a socket that is idle for longer, and a request that is sent at that moment would fail. */
const IDLE_MS_MAX = 4_000;

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` as the environment of a process has them. */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** Node's own rule, which `fetch` follows: the variables count only when NODE_USE_ENV_PROXY is 1. */
export function proxyEnvOf(env: ProxyEnv): ProxyEnv | undefined {
  return env['NODE_USE_ENV_PROXY'] === '1' ? env : undefined;
}

export interface PooledHttpOptions {
  readonly proxyEnv?: ProxyEnv | undefined;
  /** It is called for each request that must wait for a socket. */
  readonly onWait?: () => void;
}

/** `socketsMax` bounds the sockets in use. Further requests wait for one, within their own time. */
export function createPooledHttp(
  socketsMax: number,
  { proxyEnv, onWait = () => {} }: PooledHttpOptions = {},
): PooledHttp {
  const options = {
    keepAlive: true,
    maxSockets: socketsMax,
    maxTotalSockets: socketsMax,
    maxFreeSockets: Math.min(IDLE_SOCKETS_MAX, socketsMax),
    timeout: IDLE_MS_MAX,
    ...(proxyEnv && { proxyEnv }),
  };
  const kept = once(() => poolsWith(options));
  const unkept = once(() => poolsWith({ ...options, keepAlive: false }));
  let inUseCount = 0;
  const end = () => {
    inUseCount -= 1;
  };

  const sendOver = (pools: Pools, request: HttpRequest) => {
    if (request.signal?.aborted === true) return Promise.reject(abortReason(request.signal));
    inUseCount += 1;
    if (inUseCount > socketsMax) onWait();
    const isPlain = request.url.protocol === 'http:';
    return exchange(request, { isPlain, agent: pools[isPlain ? 'http:' : 'https:'] }, end);
  };

  return {
    send: (request) => sendOver(kept(), request),
    async sendRead(request) {
      try {
        return await sendOver(kept(), request);
      } catch (error) {
        if (error instanceof ClosedMeanwhile) return sendOver(unkept(), request);
        throw error;
      }
    },
    close() {
      for (const pool of Object.values(kept())) pool.destroy();
    },
  };
}

type Pools = Readonly<Record<'http:' | 'https:', http.Agent>>;

function poolsWith(options: https.AgentOptions): Pools {
  const { http, https } = modules();
  return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) };
}

/** The socket had carried an earlier exchange and was closed before anything of an answer came. */
class ClosedMeanwhile extends Error {
  override readonly name = 'ClosedMeanwhile';
}

const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE']);

interface Transport {
  readonly isPlain: boolean;
  readonly agent: http.Agent;
}

/** `onEnd` is called once, when the socket is free again or closed. */
function exchange(
  { url, method, headers, body, signal, timeoutMs }: HttpRequest,
  { isPlain, agent }: Transport,
  onEnd: () => void,
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const options = { ...placeOf(url), agent, method, headers: { ...headers, 'accept-encoding': 'gzip' } };
  const request = modules()[isPlain ? 'http' : 'https'].request(options);
  let incoming: http.IncomingMessage | undefined;
  // A request that is destroyed tears its answer down with another error, so the answer is destroyed first.
  const stop = (reason: Error) => {
    incoming?.destroy(reason);
    request.destroy(reason);
    reject(reason);
  };
  const timer = setTimeout(() => stop(timeoutError(timeoutMs)), timeoutMs);
  const onAbort = () => stop(abortReason(signal));
  signal?.addEventListener('abort', onAbort, { once: true });
  request.once('close', () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    onEnd();
  });
  request.on('error', (error: Error & { readonly code?: string }) => {
    const isClosed = request.reusedSocket && incoming === undefined && CLOSED.has(error.code);
    reject(isClosed ? new ClosedMeanwhile(error.message, { cause: error }) : error);
  });
  request.once('response', (response) => {
    incoming = response;
    // Its reader meets the error. Without this listener an error before the first read would end the process.
    response.on('error', () => {});
    if (REDIRECTS.has(response.statusCode ?? 0)) return stop(new Error('The answer is a redirect'));
    resolve(answerOf(response));
  });
  request.end(body);
  return promise;
}

/** Node reads these from a URL, too, together with parts that no upstream has, which takes four times as long. */
function placeOf({ protocol, hostname, port, pathname, search }: URL): http.RequestOptions {
  // The address of an IPv6 host stands in brackets only in a URL.
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { protocol, hostname: host, port, path: `${pathname}${search}` };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function answerOf(response: http.IncomingMessage): HttpAnswer {
  const status = response.statusCode ?? 0;
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headerOf(response, name) },
    body: unpacked(response),
  };
}

function headerOf({ headers }: http.IncomingMessage, name: string): string | null {
  const value = headers[name];
  if (typeof value === 'string') return value;
  return value === undefined ? null : value.join(', ');
}

/** A server may pack an answer in another way than it was asked for. */
function unpacked(response: http.IncomingMessage): AsyncIterable<Uint8Array> {
  const unpack = UNPACKING[headerOf(response, 'content-encoding')?.toLowerCase() ?? ''];
  // The reader meets every error of the pipeline at its end.
  return unpack === undefined ? response : pipeline(response, unpack(), () => {});
}

const UNPACKING: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function timeoutError(timeoutMs: number): Error {
  return new DOMException(`The exchange took longer than ${timeoutMs} ms`, 'TimeoutError');
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('The request was aborted');
}
