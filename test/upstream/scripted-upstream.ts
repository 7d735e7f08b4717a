/**
 * Starts a real HTTP server that answers from a script, with a client in front of it and a clock on which no real
 * time passes.
 */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest';
import type { Clock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import type { SendHttp } from '../../shared/upstream/pooled-http.ts';
import { createPooledHttp } from '../../shared/upstream/pooled-http.ts';
import { createRequestBudget, type RequestBudget } from '../../shared/upstream/request-budget.ts';
import type { Attempt, KeySource } from '../../shared/upstream/send-with-key.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../builders.ts';

export const KEY = 'canary-key-0123456789';
export const PROJECT_ID = 'quiet-pond-12345678';
export const OPERATION_ID = 'd6ad21e4-725d-493f-a495-43867ad88d09';
export const ROW = { id: OPERATION_ID, status: 'running', created_at: '2026-01-15T12:00:00Z' };

export type Script = (request: IncomingMessage, response: ServerResponse) => void;

export const answers =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script =>
  (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));

/** The head and the first bytes arrive; then the connection breaks. */
export const breaksOff =
  (status: number, headers: Readonly<Record<string, string>> = {}): Script =>
  (_request, response) => {
    response.writeHead(status, { 'content-length': '1000', ...headers });
    response.write('{"operations":[', () => response.destroy());
  };

export const listed = answers(200, { operations: [ROW] });

/** Plays the scripts one after the other; the last one stands for all that follow. */
export function inOrder(...scripts: readonly Script[]): Script {
  let count = 0;
  return (request, response) => {
    count += 1;
    scripts[Math.min(count, scripts.length) - 1]?.(request, response);
  };
}

export interface UpstreamOptions {
  readonly keys?: KeySource;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly maySend?: () => boolean;
  readonly fetch?: typeof fetch;
}

/** The clients under test send with this. When it is undefined, they use `fetch`. */
export const clientsUnderTest: { send: SendHttp | undefined } = { send: undefined };

/** Both ways to send are held to the same contract. */
export const SENDERS: readonly (readonly [string, SendHttp | undefined])[] = [
  ['fetch', undefined],
  ['pooled sockets', createPooledHttp(50).send],
];

/** The clients of all tests of the surrounding `describe` send by this. */
export function sendAllBy(send: SendHttp | undefined): void {
  beforeAll(() => {
    clientsUnderTest.send = send;
  });
  afterAll(() => {
    clientsUnderTest.send = undefined;
  });
}

export async function startScriptedUpstream(script: Script, options: UpstreamOptions = {}) {
  const { clock, sleptMs } = fastClock();
  const requests: { readonly url: URL; readonly atMs: number; readonly headers: IncomingHttpHeaders }[] = [];
  const baseUrl = await listen((request, response) => {
    const { headers } = request;
    requests.push({ url: new URL(`http://upstream${request.url}`), atMs: clock.now(), headers });
    script(request, response);
  });
  const attempts: Attempt[] = [];
  const budget = countingBudget(createRequestBudget({ clock, requestsPerMinute: 600, burst: 40 }));
  const secret = createSecret(KEY);
  const client = createUpstreamClient({
    baseUrl: `${baseUrl}/api/v2`,
    apiKey: options.keys ?? { current: async () => secret, refresh: async () => secret },
    clock,
    random: seededRandom(1),
    budget,
    timeoutMs: options.timeoutMs ?? 5_000,
    ...(options.fetch ? { fetch: options.fetch } : { send: clientsUnderTest.send }),
    onAttempt: (attempt) => void attempts.push(attempt),
    ...(options.maySend && { maySend: options.maySend }),
  });
  const { signal } = options;
  const list = () => client.listOperations({ projectId: PROJECT_ID }, { ...(signal && { signal }) });
  return { client, list, requests, attempts, sleptMs, budget };
}

/** Until the test is over, time runs out as soon as the head of an answer has arrived, however fast the machine is. */
export function timeOutAfterTheHead(): typeof fetch {
  const timeouts: AbortController[] = [];
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const timeout = new AbortController();
    timeouts.push(timeout);
    return timeout.signal;
  });
  onTestFinished(() => spy.mockRestore());
  return async (...request) => {
    const answer = await fetch(...request);
    const isOver = new DOMException('The time is over', 'TimeoutError');
    setImmediate(() => timeouts.at(-1)?.abort(isOver));
    return answer;
  };
}

export async function listen(script: Script): Promise<string> {
  const server = createServer((request, response) => {
    // The client may hang up in the middle of an answer: that is what some tests are about.
    response.on('error', () => {});
    script(request, response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function failureOf(call: Promise<unknown>): Promise<UpstreamError> {
  const error = await call.then(
    () => 'no failure',
    (thrown: unknown) => thrown,
  );
  if (error instanceof UpstreamError) return error;
  throw new TypeError('not an UpstreamError', { cause: error });
}

/** Sleepers wake in the order of their times, each as soon as everything else has come to rest. */
export function fastClock(startMs = NOON_MS) {
  let nowMs = startMs;
  const sleptMs: number[] = [];
  const sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  const wakeNext = () => {
    sleepers.sort((one, other) => one.atMs - other.atMs);
    const next = sleepers.shift();
    nowMs = Math.max(nowMs, next?.atMs ?? nowMs);
    next?.wake();
  };
  const clock: Clock = {
    now: () => nowMs,
    sleep(durationMs, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      sleptMs.push(durationMs);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper = { atMs: nowMs + durationMs, wake: resolve };
      sleepers.push(sleeper);
      setImmediate(wakeNext);
      signal?.addEventListener('abort', () => {
        const place = sleepers.indexOf(sleeper);
        if (place >= 0) sleepers.splice(place, 1);
        reject(signal.reason);
      });
      return promise;
    },
  };
  return { clock, sleptMs };
}

function countingBudget(budget: RequestBudget): RequestBudget & { takenCount(): number } {
  let takenCount = 0;
  return {
    async take(signal) {
      await budget.take(signal);
      takenCount += 1;
    },
    pauseFor: (durationMs) => budget.pauseFor(durationMs),
    takenCount: () => takenCount,
  };
}
