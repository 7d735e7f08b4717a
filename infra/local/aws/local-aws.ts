/** The local AWS: one HTTP port that the real SDK clients reach through AWS_ENDPOINT_URL. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import dynalite from 'dynalite';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { createLocalEventBus, type EventBusOptions, type LocalEventBus } from './event-bus.ts';
import { createLocalSecrets, type LocalSecrets } from './secrets.ts';
import { createServices, ServiceError, type Services } from './services.ts';

export interface LocalAwsCall {
  /** As in the signature's scope: `dynamodb`, `events`, `secretsmanager`. */
  readonly service: string;
  readonly operation: string;
}

/** Off by default; for tests and demonstrations. */
export interface LocalAwsFaults {
  /** Refuses the call before anything is done. */
  beforeCall?(call: LocalAwsCall): { readonly type: string; readonly message: string } | undefined;
  /** True: the work is done, and the connection breaks before the answer. */
  losesReply?(call: LocalAwsCall): boolean;
  /** An error code for one entry of PutEvents. */
  failEntry?: EventBusOptions['failEntry'];
}

export interface LocalAwsOptions {
  readonly port?: number | undefined;
  /** Keeps the tables in this folder; in memory when absent. */
  readonly tablesDir?: string | undefined;
  readonly clock?: Clock;
  readonly newId?: () => string;
  readonly faults?: LocalAwsFaults;
  readonly onAccepted?: EventBusOptions['onAccepted'];
  readonly onDropped?: EventBusOptions['onDropped'];
}

export interface LocalAws {
  readonly endpoint: string;
  /** For the processes that use it; keys are dummies, because nothing checks signatures here. */
  readonly environment: Readonly<Record<string, string>>;
  readonly bus: LocalEventBus;
  readonly secrets: LocalSecrets;
  close(): Promise<void>;
}

const REGION = 'us-east-1';
const ACCOUNT_ID = '000000000000';

/** A hundred items of BatchWriteItem are below it, and PutEvents by far. */
const BODY_BYTES_MAX = 16_000_000;

export async function startLocalAws(options: LocalAwsOptions = {}): Promise<LocalAws> {
  const { clock = systemClock, newId = randomUUID, faults = {}, onAccepted, onDropped } = options;
  const path = options.tablesDir === undefined ? {} : { path: options.tablesDir };
  const tables = dynalite({ ...path, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const busOptions = { clock, newId, region: REGION, accountId: ACCOUNT_ID, failEntry: faults.failEntry };
  const bus = createLocalEventBus({ ...busOptions, onAccepted, onDropped });
  const secrets = createLocalSecrets(newId);
  const services = createServices(bus, secrets);
  const server = createServer((request, response) => {
    void handle({ tables, services, faults }, request, response);
  });
  await listen(server, options.port ?? 0);
  // Nobody calls this port: dynalite closes its database only when it closes a server that has listened.
  await listen(tables, 0);
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    environment: environmentOf(endpoint),
    bus,
    secrets,
    async close() {
      await bus.idle();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await new Promise((resolve) => tables.close(resolve));
    },
  };
}

/** Rejects with Node's own error, EADDRINUSE for one. Only this machine can connect. */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

function environmentOf(endpoint: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  };
}

interface Backend {
  readonly tables: Server;
  readonly services: Services;
  readonly faults: LocalAwsFaults;
}

async function handle(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const call = callOf(request);
  const refusal = backend.faults.beforeCall?.(call);
  if (refusal !== undefined) return answerError(response, refusal.type, refusal.message);
  if (backend.faults.losesReply?.(call) === true) loseReply(response);
  if (call.service === 'dynamodb') return void backend.tables.emit('request', request, response);
  try {
    const operation = backend.services[call.service]?.[call.operation];
    if (operation === undefined) {
      throw new ServiceError(
        'UnknownOperationException',
        `${call.service}:${call.operation} is not part of the local AWS`,
      );
    }
    answer(response, 200, operation(await readBody(request)));
  } catch (error) {
    const { name, message } = toError(error);
    const isKnown = error instanceof ServiceError;
    answerError(response, isKnown ? name : 'InternalFailure', message);
  }
}

/** Signature Version 4: `Credential=<key>/<date>/<region>/<service>/aws4_request`. */
function callOf({ headers }: IncomingMessage): LocalAwsCall {
  const service = /Credential=[^/]*\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(
    headers.authorization ?? '',
  )?.[1];
  const target = headers['x-amz-target'];
  return {
    service: service ?? 'unsigned',
    operation:
      String(target ?? '')
        .split('.')
        .at(-1) ?? '',
  };
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_BYTES_MAX)
      throw new ServiceError('RequestEntityTooLargeException', 'The request is too large');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
  } catch {
    throw new ServiceError('SerializationException', 'The body is not JSON');
  }
}

/** JSON always: the SDK cannot read anything else, not even an error. */
function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}

function answerError(response: ServerResponse, type: string, message: string): void {
  answer(response, type === 'InternalFailure' ? 500 : 400, { __type: type, message });
}

/** Whoever answers this response later works in full and talks to a closed socket. */
function loseReply(response: ServerResponse): void {
  const { socket } = response;
  response.end = ((): ServerResponse => {
    socket?.destroy();
    return response;
  }) as ServerResponse['end'];
}
