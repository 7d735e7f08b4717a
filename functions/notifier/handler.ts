/** This file is the notifier's Lambda entry: it reads the configuration, builds the adapters and makes one call. */

import { systemClock } from '../../shared/runtime/clock.ts';
import { functionEnvironment, readConfig } from '../../shared/runtime/read-config.ts';
import { answeringSelfTests } from '../../shared/runtime/self-test.ts';
import { createNotifierHandler } from './create-handler.ts';
import { createNotifierSelfTest } from './create-self-test.ts';
import { notifierEnvironment } from './environment.ts';

const environment = readConfig(
  notifierEnvironment,
  functionEnvironment(import.meta.dirname, process.env),
  "The notifier's environment",
);

export const handler = answeringSelfTests(
  createNotifierHandler(environment, systemClock),
  createNotifierSelfTest(environment, systemClock),
);
