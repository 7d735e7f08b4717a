/** Runs a function that a queue invokes on this machine: its own handler in a thread of its own, as Lambda runs it. */

import { createInterface } from 'node:readline';
import type { Worker } from 'node:worker_threads';
import type { BatchResponse } from '../../../functions/notifier/notify.ts';
import type { WorkerSettings } from './poller-lambda.ts';
import { type FunctionScript, startThread } from './start-thread.ts';

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
