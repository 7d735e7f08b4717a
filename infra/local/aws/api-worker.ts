/**
 * Serves the API in a thread of its own, as Lambda does behind an HTTP API: with its own environment and its own
 * output.
 */

import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { serve } from '@hono/node-server';
import { createApiFunction } from '../../../functions/api/create-handler.ts';
import { apiEnvironment } from '../../../shared/config/api-config.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { proxyEnvOf } from '../../../shared/upstream/pooled-http.ts';
import { forOwnHost } from '../../process/operating-system.ts';
import { scaledClock } from '../../process/surroundings.ts';
import type { ApiWorkerSettings, FromApiWorker } from '../local-api.ts';

const KEEP_ALIVE_MS = 75_000;

const { speed, originMs, port, publicUrl } = workerData as ApiWorkerSettings;
const environment = readConfig(apiEnvironment, process.env, "The API's environment");
const clock = scaledClock(speed, originMs);
const { app, telemetry } = createApiFunction(environment, {
  clock,
  random: systemRandom,
  newId: randomUUID,
  proxyEnv: proxyEnvOf(process.env),
});

const server = serve(
  {
    // A tunnel that a person has opened to the server has an address of its own.
    fetch: forOwnHost((request, connection) => app.fetch(request, connection), hostsOf(publicUrl)),
    hostname: '127.0.0.1',
    port,
  },
  (address) => {
    post({ kind: 'listening', port: address.port });
  },
);
// A client may send its next request over the same connection when the longest Retry-After, a minute, is over.
if ('keepAliveTimeout' in server) server.keepAliveTimeout = KEEP_ALIVE_MS;
server.on('error', (error: NodeJS.ErrnoException) => post({ kind: 'failed', code: error.code ?? '', port }));

// Lambda flushes after each invocation, and one line a minute is enough here.
const flushing = setInterval(() => telemetry.flush(), 60_000);

parentPort?.on('message', () => {
  clearInterval(flushing);
  telemetry.flush();
  server.close(() => post({ kind: 'closed' }));
  // A long poll would delay the end by up to half a minute.
  if ('closeAllConnections' in server) server.closeAllConnections();
});

function hostsOf(url = ''): readonly string[] {
  const host = URL.parse(url)?.host;
  return host === undefined ? [] : [host];
}

function post(message: FromApiWorker): void {
  parentPort?.postMessage(message);
}
