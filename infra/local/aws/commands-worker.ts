/**
 * Runs the handler of the worker for queued commands in a thread of its own, as Lambda does: with its own environment and
 * its own standard output.
 */

import { randomUUID } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { createCommandsHandler } from '../../../functions/commands/create-handler.ts';
import { commandsEnvironment } from '../../../functions/commands/invocation.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { scaledClock } from '../../process/surroundings.ts';
import { answerInvocations } from './answer-invocations.ts';
import type { WorkerSettings } from './local-lambda.ts';

const { speed, originMs } = workerData as WorkerSettings;
const environment = readConfig(commandsEnvironment, process.env, "The worker's environment");
const clock = scaledClock(speed, originMs);
const handler = createCommandsHandler(environment, { clock, random: systemRandom, newId: randomUUID });

answerInvocations(handler);
