/**
 * Runs the notifier's handler in a thread of its own, as Lambda does: with its own environment and its own standard
 * output.
 */

import { workerData } from 'node:worker_threads';
import { createNotifierHandler } from '../../../functions/notifier/create-handler.ts';
import { notifierEnvironment } from '../../../functions/notifier/environment.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { scaledClock } from '../../process/surroundings.ts';
import { answerInvocations } from './answer-invocations.ts';
import type { WorkerSettings } from './local-lambda.ts';

const { speed, originMs } = workerData as WorkerSettings;
const environment = readConfig(notifierEnvironment, process.env, "The notifier's environment");
const handler = createNotifierHandler(environment, scaledClock(speed, originMs));

answerInvocations(handler);
