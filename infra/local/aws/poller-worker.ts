/**
 * Runs the poller's handler in a thread of its own, as Lambda does: with its own environment and its own standard
 * output.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { createPollerHandler } from '../../../functions/poller/create-handler.ts';
import { pollerEnvironment } from '../../../shared/config/poller-config.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { proxyEnvOf } from '../../../shared/upstream/pooled-http.ts';
import { scaledClock } from '../../process/surroundings.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './local-lambda.ts';

const { speed, originMs } = workerData as WorkerSettings;
const clock = scaledClock(speed, originMs);
const environment = readConfig(pollerEnvironment, process.env, "The poller's environment");
// One process uses a data folder at a time, so a restart may take its own lease over at once.
const newId = () => 'local';
const monotonicMs = () => performance.now() * speed;
const handler = createPollerHandler(environment, {
  clock,
  random: systemRandom,
  newId,
  monotonicMs,
  proxyEnv: proxyEnvOf(process.env),
});
const stop = new AbortController();

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'stop') stop.abort(new Error('The process must stop'));
  else if (message.kind === 'end') parentPort?.close();
  else void invoke(message);
});

async function invoke({ event, timeoutMs }: Extract<ToWorker, { kind: 'invoke' }>): Promise<void> {
  const deadlineMs = clock.now() + timeoutMs;
  const context = { getRemainingTimeInMillis: () => deadlineMs - clock.now() };
  try {
    const report = await handler(event, context, stop.signal);
    answer({ kind: 'done', report });
  } catch (error) {
    const { name, message } = toError(error);
    answer({ kind: 'failed', reason: `${name}: ${message}` });
  }
}

function answer(message: FromWorker): void {
  parentPort?.postMessage(message);
}
