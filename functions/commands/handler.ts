/** The Lambda entry of the worker that sends queued commands. */

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { functionEnvironment, readConfig } from '../../shared/runtime/read-config.ts';
import { answeringSelfTests } from '../../shared/runtime/self-test.ts';
import { createCommandsHandler } from './create-handler.ts';
import { createCommandsSelfTest } from './create-self-test.ts';
import { commandsEnvironment } from './invocation.ts';

const environment = readConfig(
  commandsEnvironment,
  functionEnvironment(import.meta.dirname, process.env),
  "The worker's environment",
);

export const handler = answeringSelfTests(
  createCommandsHandler(environment, { clock: systemClock, random: systemRandom, newId: randomUUID }),
  createCommandsSelfTest(environment, { clock: systemClock, newId: randomUUID }),
);
