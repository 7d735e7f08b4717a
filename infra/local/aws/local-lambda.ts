/**
 * Runs the functions on this machine as Lambda runs them: each has a thread of its own. A schedule invokes the poller
 * once a minute of simulated time and never twice at once, and a queue invokes the others with batches of its
 * messages.
 */

import { once } from 'node:events';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { BatchResponse } from '../../../functions/notifier/notify.ts';
import type { LaneReport } from '../../../functions/poller/lane/run-lane.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { QueueMessage } from './sqs/event-source.ts';

type FunctionScript = 'api-worker' | 'commands-worker' | 'notifier-worker' | 'poller-worker';

/** The scripts are beside this file: as TypeScript in the project, and as JavaScript in the built package. */
const EXTENSION = extname(import.meta.filename);

/** Every thread begins with the same script, which imports the script of this name. */
export function startThread(script: FunctionScript, options: WorkerOptions): Worker {
  const begin = new URL(`./thread${EXTENSION}`, import.meta.url);
  return new Worker(begin, { ...options, argv: [`${script}${EXTENSION}`] });
}

export interface WorkerSettings {
  readonly speed: number;
  readonly originMs: number;
}

export type ToWorker =
  | { readonly kind: 'invoke'; readonly event: unknown; readonly timeoutMs: number }
  /** The running invocation must come to its end. */
  | { readonly kind: 'stop' }
  /** No invocation will follow. */
  | { readonly kind: 'end' };

export type FromWorker =
  | { readonly kind: 'done'; readonly report: LaneReport }
  | { readonly kind: 'failed'; readonly reason: string };

export interface PollerLambdaOptions extends WorkerSettings {
  readonly environment: Readonly<Record<string, string>>;
  readonly event: unknown;
  readonly clock: Clock;
  readonly onLogLine: (line: string) => void;
  readonly onResult: (result: FromWorker) => void;
}

/** Invokes until `signal` aborts, and resolves when the last invocation has ended. */
export async function runPollerLambda(options: PollerLambdaOptions, signal: AbortSignal): Promise<void> {
  const { speed, originMs, environment, clock } = options;
  const worker = startThread('poller-worker', {
    workerData: { speed, originMs } satisfies WorkerSettings,
    env: { ...environment },
    stdout: true,
    stderr: true,
  });
  const lines = [worker.stdout, worker.stderr].map((input) =>
    createInterface({ input }).on('line', options.onLogLine),
  );
  const allRead = Promise.all(lines.map((each) => once(each, 'close')));
  const onStop = () => worker.postMessage({ kind: 'stop' } satisfies ToWorker);
  signal.addEventListener('abort', onStop, { once: true });
  try {
    while (!signal.aborted) {
      const startedMs = clock.now();
      const result = await invokeHandler(worker, options.event);
      options.onResult(result);
      // The schedule does not wait for a slow invocation, but a reserved concurrency of one does.
      const restMs = startedMs + pollerSchedule.everyMs - clock.now();
      await clock.sleep(Math.max(0, restMs), signal).catch(() => {});
    }
  } finally {
    signal.removeEventListener('abort', onStop);
    worker.postMessage({ kind: 'end' } satisfies ToWorker);
    // The last invocation's metrics are still on their way. A thread that does not end by itself is terminated.
    await Promise.race([allRead, sleep(END_MS_MAX, undefined, { ref: false })]);
    await worker.terminate();
  }
}

const END_MS_MAX = 2_000;

function invokeHandler(worker: Worker, event: unknown): Promise<FromWorker> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromWorker) => {
      worker.off('error', reject);
      resolve(message);
    };
    worker.once('message', onMessage);
    worker.once('error', reject);
    worker.postMessage({ kind: 'invoke', event, timeoutMs: pollerSchedule.timeoutMs } satisfies ToWorker);
  });
}

export interface ToFunction {
  readonly id: number;
  readonly event: unknown;
}

export type FromFunction =
  | { readonly id: number; readonly kind: 'done'; readonly response: BatchResponse }
  | { readonly id: number; readonly kind: 'failed'; readonly reason: string };

export interface QueueLambdaOptions extends WorkerSettings {
  /** This script runs in the thread and answers each `ToFunction` with a `FromFunction`. */
  readonly script: FunctionScript;
  readonly environment: Readonly<Record<string, string>>;
  /** Is called with every line that the function logs. */
  readonly onLogLine: (line: string) => void;
  /** Is called with a sentence about a failure that a person has to know of. */
  readonly onFailure: (sentence: string) => void;
}

export interface QueueLambda {
  /** Resolves to undefined when the invocation failed, which `onFailure` has reported. It never throws. */
  invoke(event: unknown): Promise<BatchResponse | undefined>;
  close(): Promise<void>;
}

export function startQueueLambda(options: QueueLambdaOptions): QueueLambda {
  const { speed, originMs, environment, onLogLine, onFailure } = options;
  const worker = startThread(options.script, {
    workerData: { speed, originMs } satisfies WorkerSettings,
    env: { ...environment },
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      onLogLine(line);
      const error = errorIn(line);
      if (error !== undefined) onFailure(error);
    });
  }
  const ask = questionsTo(worker);
  return {
    async invoke(event) {
      const answer = await ask(event);
      if (answer.kind === 'done') return answer.response;
      onFailure(`the invocation failed: ${answer.reason}`);
      return undefined;
    },
    close: async () => void (await worker.terminate()),
  };
}

/** Pairs answers with invocations by number. When the thread has died, every open and every later invocation fails. */
function questionsTo(worker: Worker): (event: unknown) => Promise<FromFunction> {
  const waiting = new Map<number, (answer: FromFunction) => void>();
  worker.on('message', (answer: FromFunction) => waiting.get(answer.id)?.(answer));
  let endedBecause: string | undefined;
  const end = (reason: string) => {
    endedBecause ??= reason;
    for (const [id, resolve] of waiting) resolve({ id, kind: 'failed', reason });
  };
  worker.on('error', ({ message }) => end(message));
  worker.on('exit', () => end('its thread has ended'));
  let count = 0;
  return async (event) => {
    const id = ++count;
    const { promise, resolve } = Promise.withResolvers<FromFunction>();
    if (endedBecause !== undefined) return { id, kind: 'failed', reason: endedBecause };
    waiting.set(id, resolve);
    worker.postMessage({ id, event } satisfies ToFunction);
    try {
      return await promise;
    } finally {
      waiting.delete(id);
    }
  };
}

/**
 * Returns a few words for an error, and undefined for any other line, because the alerts themselves are shown anyway.
 */
function errorIn(line: string): string | undefined {
  if (!line.includes('"ERROR"')) return undefined;
  const { message, channel, reason } = JSON.parse(line) as Record<string, unknown>;
  return [message, channel, reason].filter((part) => typeof part === 'string').join(', ');
}

export interface QueueInvocations {
  /** Starts an invocation for each batch that waits, up to the limit, and one without a batch as often as the schedule does. */
  runUntil(signal: AbortSignal, sweepEveryMs: number): Promise<void>;
  /** Resolves when the queue shows nothing more and no invocation is under way. */
  drain(): Promise<void>;
}

/** This half of a queue is the event source's. */
interface ReadQueue {
  receive(countMax: number): readonly QueueMessage[];
  delete(messageId: string): void;
}

/**
 * No further batch is taken while this many invocations run. Lambda reads a queue with five pollers at first, and a
 * sweep may run beside them.
 */
const INVOCATIONS_MAX = 6;

/** Lambda polls a queue all the time. This interval is short enough that a person notices no delay. */
const POLL_MS = 100;

export interface QueueFunction {
  readonly batchSize: number;
  readonly clock: Clock;
  readonly lambda: QueueLambda;
}

export function createQueueInvocations(
  queue: ReadQueue,
  { batchSize, clock, lambda }: QueueFunction,
): QueueInvocations {
  const underWay = new Set<Promise<unknown>>();
  const start = (task: Promise<unknown>): void => {
    underWay.add(task);
    void task.finally(() => underWay.delete(task));
  };

  const handle = async (batch: readonly QueueMessage[]): Promise<void> => {
    const Records = batch.map(recordOf);
    const failedIds = failedIn(batch, await lambda.invoke({ Records }));
    // A failed message stays hidden until its time-out is over, as on AWS. If it were released at once, it would use
    // up its tries in a second.
    for (const { messageId } of batch) if (!failedIds.has(messageId)) queue.delete(messageId);
  };

  /**
   * Handles several batches at once, as Lambda does, so one that waits for a slow channel does not delay the others.
   */
  const receiveAll = (): void => {
    while (underWay.size < INVOCATIONS_MAX) {
      const batch = queue.receive(batchSize);
      if (batch.length === 0) return;
      start(handle(batch));
    }
  };

  return {
    async runUntil(signal, sweepEveryMs) {
      let sweptAtMs = Number.NEGATIVE_INFINITY;
      while (!signal.aborted) {
        receiveAll();
        if (clock.now() - sweptAtMs >= sweepEveryMs) {
          sweptAtMs = clock.now();
          start(lambda.invoke({}));
        }
        await clock.sleep(POLL_MS, signal).catch(() => {});
      }
    },
    async drain() {
      for (;;) {
        receiveAll();
        if (underWay.size === 0) return;
        await Promise.all(underWay);
      }
    },
  };
}

/** The fields of Lambda's event that the functions use. A queue of this machine knows a reception by the message's id. */
function recordOf({ messageId, body, receiveCount }: QueueMessage) {
  const attributes = { ApproximateReceiveCount: String(receiveCount) };
  return { messageId, receiptHandle: messageId, body, attributes, eventSource: 'aws:sqs' };
}

/** Returns the messages that failed. They are all messages of the batch when the invocation itself failed. */
function failedIn(batch: readonly QueueMessage[], response: BatchResponse | undefined): ReadonlySet<string> {
  return new Set(
    response?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier) ??
      batch.map(({ messageId }) => messageId),
  );
}
