/**
 * Runs the handler of the worker for queued commands in a thread of its own, as Lambda does: with its own environment and
 * its own standard output.
 */

import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { createCommandsHandler } from '../../../functions/commands/create-handler.ts';
import { commandsEnvironment } from '../../../shared/config/commands-config.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { scaledClock } from '../../process/time.ts';
import type { FromFunction, ToFunction, WorkerSettings } from './local-lambda.ts';

const { speed, originMs } = workerData as WorkerSettings;
const environment = readConfig(commandsEnvironment, process.env, "The worker's environment");
const clock = scaledClock(speed, originMs);
const handler = createCommandsHandler(environment, { clock, random: systemRandom, newId: randomUUID });

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
