/**
 * Runs the notifier's handler in a thread of its own, as Lambda does: with its own environment and its own standard
 * output.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { createNotifierHandler } from '../../../functions/notifier/create-handler.ts';
import { notifierEnvironment } from '../../../functions/notifier/environment.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { scaledClock } from '../../process/time.ts';
import type { FromFunction, ToFunction, WorkerSettings } from './local-lambda.ts';

const { speed, originMs } = workerData as WorkerSettings;
const environment = readConfig(notifierEnvironment, process.env, "The notifier's environment");
const handler = createNotifierHandler(environment, scaledClock(speed, originMs));

parentPort?.on('message', ({ id, event }: ToFunction) => void invoke(id, event));

async function invoke(id: number, event: unknown): Promise<void> {
  try {
    answer({ id, kind: 'done', response: await handler(event) });
  } catch (error) {
    const { name, message } = toError(error);
    answer({ id, kind: 'failed', reason: `${name}: ${message}` });
  }
}

function answer(message: FromFunction): void {
  parentPort?.postMessage(message);
}
