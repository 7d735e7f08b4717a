/**
 * Runs a local Lambda and its schedule, which invokes the poller once a minute of simulated time and never twice at
 * once.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { LaneReport } from '../../../functions/poller/lane/run-lane.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { startThread } from './start-thread.ts';

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
      const result = await invoke(worker, options.event);
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

function invoke(worker: Worker, event: unknown): Promise<FromWorker> {
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
