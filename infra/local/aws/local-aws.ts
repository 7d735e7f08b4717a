/** Serves the local AWS on one HTTP port, which the real SDK clients reach through AWS_ENDPOINT_URL. */

import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { FOREIGN_HOST_SENTENCE, isOwnHost } from '../../process/own-host.ts';
import { type LocalDynamoDb, openLocalDynamoDb } from './dynamodb.ts';
import { createEventBridgeService } from './event-bridge-service.ts';
import { createLocalEventBus, type EventBusOptions, type LocalEventBus } from './event-bus.ts';
import { createLocalSecrets, type LocalSecrets } from './secrets.ts';
import { createSecretsManagerService } from './secrets-manager-service.ts';
import { type Service, ServiceError } from './service.ts';
import { createLocalQueues, createSqsService, type LocalQueues } from './sqs-service.ts';
import { createLocalTopics, type LocalTopics, publishAnswer } from './topics.ts';

export interface LocalAwsCall {
  /** The service's name in the signature's scope: `dynamodb`, `events`, `secretsmanager` or `sqs`. */
  readonly service: string;
  readonly operation: string;
}

interface Refusal {
  readonly type: string;
  readonly message: string;
  /** The default is 400, and 500 for InternalFailure. */
  readonly status?: number;
}

/** Faults for tests and demonstrations; all are off by default. */
export interface LocalAwsFaults {
  /** Refuses the call before anything is done. */
  beforeCall?(call: LocalAwsCall): Refusal | undefined;
  /** Returns true to do the work and break the connection before the answer. */
  losesReply?(call: LocalAwsCall): boolean;
  /** Returns the error code that one entry of PutEvents is refused with. */
  failEntry?: EventBusOptions['failEntry'];
}

export interface LocalAwsOptions {
  readonly port?: number | undefined;
  /** Keeps the tables in this folder; without one they are in memory. */
  readonly tablesDir?: string | undefined;
  /** Uses tables that are open already; they are closed with the local AWS. */
  readonly tables?: LocalDynamoDb | undefined;
  readonly clock?: Clock;
  readonly newId?: () => string;
  /** Refuses every request that is signed with another id. The default is random. */
  readonly accessKeyId?: string;
  readonly faults?: LocalAwsFaults;
  /** The most bytes that the entries of one PutEvents may have together; the default is 256 KiB. */
  readonly entriesBytesMax?: number;
  readonly onAccepted?: EventBusOptions['onAccepted'];
  readonly onDropped?: EventBusOptions['onDropped'];
}

export interface LocalAws {
  readonly endpoint: string;
  /** Signatures are not checked, so the id of the access key is the secret of this run. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Processes that use this AWS run with these variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly bus: LocalEventBus;
  readonly secrets: LocalSecrets;
  readonly topics: LocalTopics;
  readonly queues: LocalQueues;
  /** Calls so far, refused ones included, by the name that IAM gives the action: `dynamodb:PutItem`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Ends deliveries and connections. The port and the folder are free when it resolves. */
  close(): Promise<void>;
}

/** 128 random bits cannot be guessed while the run lasts. */
const ACCESS_KEY_BYTES = 16;

/** The SDK signs with this secret, and nothing here looks at the signature. */
const UNUSED_SECRET = 'unused';

const REGION = 'us-east-1';
const ACCOUNT_ID = '000000000000';

/** A hundred items of BatchWriteItem are smaller, and PutEvents is much smaller. */
const BODY_BYTES_MAX = 16_000_000;

/** A call that runs when the server closes has this long to end; it needs milliseconds. */
const CLOSE_GRACE_MS = 2_000;
const CLOSE_SWEEP_MS = 10;

export async function startLocalAws(options: LocalAwsOptions = {}): Promise<LocalAws> {
  const { clock = systemClock, newId = randomUUID, faults = {}, onAccepted, onDropped } = options;
  const busOptions = { clock, newId, region: REGION, accountId: ACCOUNT_ID, failEntry: faults.failEntry };
  const bus = createLocalEventBus({ ...busOptions, onAccepted, onDropped });
  const secrets = createLocalSecrets(newId);
  const topics = createLocalTopics(newId);
  const queues = createLocalQueues();
  const counts = new Map<string, number>();
  const services = new Map([
    ['events', createEventBridgeService(bus, options)],
    ['secretsmanager', createSecretsManagerService(secrets)],
    ['sqs', createSqsService(queues)],
  ]);
  const accessKeyId = options.accessKeyId ?? randomBytes(ACCESS_KEY_BYTES).toString('hex');
  const tables = options.tables ?? (await openLocalDynamoDb(options.tablesDir));
  const server = createServer((request, response) => {
    void handle({ tables, services, topics, faults, counts, accessKeyId }, request, response);
  });
  try {
    await listen(server, options.port ?? 0);
  } catch (error) {
    await tables.close();
    throw error;
  }
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    credentials: { accessKeyId, secretAccessKey: UNUSED_SECRET },
    environment: environmentOf(endpoint, accessKeyId),
    bus,
    secrets,
    topics,
    queues,
    counts,
    async close() {
      await using stack = new AsyncDisposableStack();
      stack.defer(() => tables.close());
      // Targets may call this server until they end, and calls that were under way may start deliveries.
      stack.defer(() => bus.close());
      stack.defer(() => closeServer(server));
      await bus.close();
    },
  };
}

/** Listens on loopback only. Rejects with Node's own error, for example EADDRINUSE. */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/**
 * Ends each connection as soon as no call is under way on it: `close` itself ends only those that are idle at that
 * moment.
 */
async function closeServer(server: Server): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), CLOSE_SWEEP_MS);
  const deadline = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(sweep);
  clearTimeout(deadline);
}

function environmentOf(endpoint: string, accessKeyId: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: UNUSED_SECRET,
    // Without it, the SDK writes a warning about future Node versions into the output of every process.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
}

interface Backend {
  readonly tables: LocalDynamoDb;
  /** The services by their name in the signature's scope. */
  readonly services: ReadonlyMap<string, Service>;
  readonly topics: LocalTopics;
  readonly faults: LocalAwsFaults;
  readonly counts: Map<string, number>;
  readonly accessKeyId: string;
}

async function handle(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { tables, services, topics, faults, counts } = backend;
  try {
    const fault = faultOf(request, backend.accessKeyId);
    if (fault !== undefined) return answerError(response, fault);
    const call = callOf(request);
    // SNS uses the older protocol: the action is a field of a form, and the answer is XML.
    if (call.service === 'sns') return await handlePublish(topics, counts, request, response);
    const action = `${call.service}:${call.operation}`;
    counts.set(action, (counts.get(action) ?? 0) + 1);
    const refusal = faults.beforeCall?.(call);
    if (refusal !== undefined) return answerError(response, refusal);
    if (faults.losesReply?.(call) === true) loseReply(response);
    if (call.service === 'dynamodb') return tables.handle(request, response);
    const operation = services.get(call.service)?.get(call.operation);
    if (operation === undefined) {
      throw new ServiceError('UnknownOperationException', `${action} is not part of the local AWS`);
    }
    answer(response, 200, operation(await readBody(request)));
  } catch (error) {
    const { name, message } = toError(error);
    answerError(response, { type: error instanceof ServiceError ? name : 'InternalFailure', message });
  }
}

async function handlePublish(
  topics: LocalTopics,
  counts: Map<string, number>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const form = new URLSearchParams((await readBytes(request)).toString());
  const action = `sns:${form.get('Action')}`;
  counts.set(action, (counts.get(action) ?? 0) + 1);
  const { status, xml } = publishAnswer(topics, form);
  response.writeHead(status, { 'content-type': 'text/xml' }).end(xml);
}

/**
 * Refuses other programs of this machine, which do not know the access key, and web pages under foreign names. The
 * local secrets contain the keys of real accounts.
 */
function faultOf({ headers }: IncomingMessage, accessKeyId: string): Refusal | undefined {
  if (!isOwnHost(headers.host))
    return { type: 'AccessDeniedException', message: FOREIGN_HOST_SENTENCE, status: 421 };
  const presented = /Credential=([^/]*)\//.exec(headers.authorization ?? '')?.[1] ?? '';
  if (isSame(presented, accessKeyId)) return undefined;
  const message = 'Sign with the access key that npm start has printed (AWS_ACCESS_KEY_ID of this run).';
  return { type: 'UnrecognizedClientException', message, status: 403 };
}

/** Compares in constant time. */
function isSame(presented: string, expected: string): boolean {
  const hashOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hashOf(presented), hashOf(expected));
}

/** Reads the scope of Signature Version 4: `Credential=<key>/<date>/<region>/<service>/aws4_request`. */
function callOf({ headers }: IncomingMessage): LocalAwsCall {
  const scope = /Credential=[^/]*\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(headers.authorization ?? '');
  const target = String(headers['x-amz-target'] ?? '');
  return { service: scope?.[1] ?? 'unsigned', operation: target.split('.').at(-1) ?? '' };
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_BYTES_MAX) {
      throw new ServiceError('RequestEntityTooLargeException', 'The request is too large');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request);
  try {
    return JSON.parse(bytes.toString() || '{}');
  } catch {
    throw new ServiceError('SerializationException', 'The body is not JSON');
  }
}

/** Answers with JSON in every case, because the SDK cannot read anything else, not even an error. */
function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}

function answerError(response: ServerResponse, { type, message, status }: Refusal): void {
  const usualStatus = type === 'InternalFailure' ? 500 : 400;
  answer(response, status ?? usualStatus, { __type: type, message });
}

/** Makes the work go on as usual while its answer goes to a closed socket. */
function loseReply(response: ServerResponse): void {
  const { socket } = response;
  response.end = ((): ServerResponse => {
    socket?.destroy();
    return response;
  }) as ServerResponse['end'];
}
