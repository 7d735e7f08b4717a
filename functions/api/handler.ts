/** This file is the Lambda entry of the API, behind an HTTP API with payload format 2.0. */

import { randomUUID } from 'node:crypto';
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda';
import { apiEnvironment } from '../../shared/config/api-config.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { functionEnvironment, readConfig } from '../../shared/runtime/read-config.ts';
import { answeringSelfTests } from '../../shared/runtime/self-test.ts';
import { proxyEnvOf } from '../../shared/upstream/pooled-http.ts';
import { createApiFunction } from './create-handler.ts';
import { ON_LAMBDA } from './serving/app.ts';

const variables = functionEnvironment(import.meta.dirname, process.env);
const environment = readConfig(apiEnvironment, variables, 'The environment of the function');
// Lambda gives an instance one request at a time.
let gatewayRequestId: string | undefined;
const { app, telemetry } = createApiFunction(environment, {
  clock: systemClock,
  random: systemRandom,
  newId: randomUUID,
  proxyEnv: proxyEnvOf(process.env),
  gatewayRequestId: () => gatewayRequestId,
});
const serve = handle(app, ON_LAMBDA);

async function answer(event: LambdaEvent, context?: LambdaContext) {
  const { requestContext } = event;
  gatewayRequestId = 'requestId' in requestContext ? requestContext.requestId : undefined;
  try {
    return await serve(event, context);
  } finally {
    telemetry.flush();
  }
}

export const handler = answeringSelfTests(answer, async () => {
  const { createApiSelfTest } = await import('./create-self-test.ts');
  return createApiSelfTest(environment, { clock: systemClock, newId: randomUUID })();
});
