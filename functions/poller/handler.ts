/** Starts the poller on Lambda, with the configuration of its environment and the clock of the machine. */

import { randomUUID } from 'node:crypto';
import { pollerEnvironment } from '../../shared/config/poller-config.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { functionEnvironment, readConfig } from '../../shared/runtime/read-config.ts';
import { answeringSelfTests } from '../../shared/runtime/self-test.ts';
import { proxyEnvOf } from '../../shared/upstream/pooled-http.ts';
import { createPollerHandler } from './create-handler.ts';
import { createPollerSelfTest } from './create-self-test.ts';

const environment = readConfig(
  pollerEnvironment,
  functionEnvironment(import.meta.dirname, process.env),
  "The poller's environment",
);

const poll = createPollerHandler(environment, {
  clock: systemClock,
  random: systemRandom,
  newId: randomUUID,
  monotonicMs: () => performance.now(),
  proxyEnv: proxyEnvOf(process.env),
});

export const handler = answeringSelfTests(
  poll,
  createPollerSelfTest(environment, { clock: systemClock, newId: randomUUID }),
);
