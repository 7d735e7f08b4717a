/**
 * Serves the local AWS on one HTTP port, which the real SDK clients reach through AWS_ENDPOINT_URL. Each call is
 * counted, may meet an injected fault, and is handed to its service, which lives in the memory of this process.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { createClosingStack } from '../../process/closing-stack.ts';
import {
  type BusLog,
  createBusLog,
  createCloudWatchService,
  createLogsService,
  createRuleCounts,
  type RuleCounts,
} from './cloudwatch.ts';
import { type LocalDynamoDb, openLocalDynamoDb } from './dynamodb.ts';
import {
  createEventBridgeService,
  createRuleOperations,
  createTargetOperations,
} from './event-bridge/event-bridge-service.ts';
import {
  createBusRules,
  createLocalEventBus,
  type EventBusOptions,
  type LocalEventBus,
} from './event-bridge/event-bus.ts';
import { createConnect } from './event-bridge/rule-targets.ts';
import {
  ACCOUNT_ID,
  answer,
  answerError,
  answerSts,
  callOf,
  faultOf,
  type LocalAwsCall,
  loseReply,
  REGION,
  type Refusal,
  readBody,
  readBytes,
  type Service,
  ServiceError,
} from './protocol.ts';
import { createLocalSecrets, createSecretsManagerService, type LocalSecrets } from './secrets-manager.ts';
import { createLocalTopics, type LocalTopics, publishAnswer } from './sns.ts';
import { createLocalQueues, type LocalQueues } from './sqs/local-queues.ts';
import { createSqsService } from './sqs/sqs-service.ts';
import { createLocalTasks, type LocalTasks } from './step-functions.ts';

export interface LocalAwsOptions {
  readonly port?: number | undefined;
  /** The tables are kept in this folder. Without one they are in memory. */
  readonly tablesDir?: string | undefined;
  /** These tables are open already, and are closed with the local AWS. */
  readonly tables?: LocalDynamoDb | undefined;
  readonly clock?: Clock;
  /** Figures of rules are counted by this clock: that of the functions which read them. The default is `clock`. */
  readonly figuresClock?: Clock | undefined;
  readonly newId?: () => string;
  /** Refuses every request that is signed with another id. The default is random. */
  readonly accessKeyId?: string;
  readonly faults?: LocalAwsFaults;
  /** The entries of one PutEvents together may have at most this many bytes. The default is 256 KiB. */
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
  readonly tasks: LocalTasks;
  readonly queues: LocalQueues;
  /**
   * The calls so far, refused ones included, are counted by the name that IAM gives the action: `dynamodb:PutItem`.
   */
  readonly counts: ReadonlyMap<string, number>;
  /**
   * Ends the requests and repetitions to targets that callers have added to rules. What they did not get goes to their
   * dead letters.
   */
  endSubscriptions(): void;
  /** Ends deliveries and connections. The port and the folder are free when it resolves. */
  close(): Promise<void>;
}

/** 128 random bits cannot be guessed while the run lasts. */
const ACCESS_KEY_BYTES = 16;

/** The SDK signs with this secret, and nothing here looks at the signature. */
const UNUSED_SECRET = 'unused';

/** A call that runs when the server closes has this long to end; it needs milliseconds. */
const CLOSE_GRACE_MS = 2_000;
const CLOSE_SWEEP_MS = 10;

export async function startLocalAws(options: LocalAwsOptions = {}): Promise<LocalAws> {
  const { clock = systemClock, newId = randomUUID, faults = {}, onAccepted, onDropped } = options;
  const { entriesBytesMax } = options;
  const { figuresClock = clock } = options;
  const ruleCounts = createRuleCounts(() => figuresClock.now());
  const settings = {
    clock,
    newId,
    onAccepted,
    onDropped,
    entriesBytesMax,
    failEntry: faults.failEntry,
    counts: ruleCounts,
    log: createBusLog(() => figuresClock.now()),
  };
  let endpoint = '';
  const services = openServices({ ...settings, region: REGION, accountId: ACCOUNT_ID }, () => endpoint);
  const { byName, bus, secrets, topics, tasks, queues } = services;
  const counts = new Map<string, number>();
  const accessKeyId = options.accessKeyId ?? randomBytes(ACCESS_KEY_BYTES).toString('hex');
  const tables = options.tables ?? (await openLocalDynamoDb(options.tablesDir));
  const server = createServer((request, response) => {
    void serveCall(
      {
        tables,
        services: byName,
        topics,
        faults,
        counts,
        accessKeyId,
      },
      request,
      response,
    );
  });
  try {
    await listen(server, options.port ?? 0);
  } catch (error) {
    await tables.close();
    throw error;
  }
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    credentials: { accessKeyId, secretAccessKey: UNUSED_SECRET },
    environment: environmentOf(endpoint, accessKeyId),
    bus,
    secrets,
    topics,
    tasks,
    queues,
    counts,
    endSubscriptions: () => services.endSubscriptions(),
    async close() {
      services.endWaits();
      await using stack = createClosingStack();
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
 * Ends each connection as soon as no call is under way on it, because `close` itself ends only those that are idle at
 * that moment.
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

interface OpenServices {
  /** The keys are the names of the services in the signature's scope. */
  readonly byName: ReadonlyMap<string, Service>;
  readonly bus: LocalEventBus;
  readonly queues: LocalQueues;
  readonly secrets: LocalSecrets;
  readonly topics: LocalTopics;
  readonly tasks: LocalTasks;
  /** Ends requests and repetitions to targets that callers have added to rules. */
  endSubscriptions(): void;
  /** Also ends the waits of consumers for messages. */
  endWaits(): void;
}

interface ServicesOptions extends Omit<EventBusOptions, 'rules'> {
  readonly counts: RuleCounts;
  readonly log: BusLog;
  readonly entriesBytesMax?: number | undefined;
}

/** The origin is the address of the server, which is known once it listens. */
function openServices(options: ServicesOptions, origin: () => string): OpenServices {
  const { clock, newId } = options;
  const consumers = new AbortController();
  const subscriptions = new AbortController();
  const queues = createLocalQueues({ clock, newId });
  const rules = createBusRules(createConnect(queues.standard, subscriptions.signal));
  const bus = createLocalEventBus({ ...options, rules });
  const secrets = createLocalSecrets(newId);
  const topics = createLocalTopics(newId);
  const tasks = createLocalTasks();
  const eventBridge = new Map([
    ...createEventBridgeService(bus, options),
    ...createRuleOperations(rules),
    ...createTargetOperations(rules),
  ]);
  const endSubscriptions = () => subscriptions.abort();
  return {
    byName: new Map([
      ['events', eventBridge],
      ['monitoring', createCloudWatchService(options.counts)],
      ['logs', createLogsService(options.log, (name) => bus.hasBus(name))],
      ['secretsmanager', createSecretsManagerService(secrets)],
      ['states', tasks.service],
      ['sqs', createSqsService(queues, origin, { clock, closing: consumers.signal })],
    ]),
    bus,
    queues,
    secrets,
    topics,
    tasks,
    endSubscriptions,
    endWaits() {
      endSubscriptions();
      consumers.abort();
    },
  };
}

/** These faults are for tests and demonstrations. All are off by default. */
export interface LocalAwsFaults {
  /** Refuses the call before anything is done. */
  beforeCall?(call: LocalAwsCall): Refusal | undefined;
  /** Returns true to do the work and break the connection before the answer. */
  losesReply?(call: LocalAwsCall): boolean;
  /** Returns the error code that one entry of PutEvents is refused with. */
  failEntry?: EventBusOptions['failEntry'];
}

interface LocalServices {
  readonly tables: LocalDynamoDb;
  /** The keys are the names of the services in the signature's scope. */
  readonly services: ReadonlyMap<string, Service>;
  readonly topics: LocalTopics;
  readonly faults: LocalAwsFaults;
  readonly counts: Map<string, number>;
  readonly accessKeyId: string;
}

async function serveCall(
  local: LocalServices,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { tables, services, topics, faults, counts } = local;
  try {
    const fault = faultOf(request, local.accessKeyId);
    if (fault !== undefined) return answerError(response, fault);
    const call = callOf(request);
    // These two have the older protocol: the action is a field of a form, and the answer is XML.
    if (call.service === 'sns' || call.service === 'sts') {
      const form = new URLSearchParams((await readBytes(request)).toString());
      noteCall(counts, `${call.service}:${form.get('Action')}`);
      const { status, xml } = call.service === 'sts' ? answerSts(form) : publishAnswer(topics, form);
      return void response.writeHead(status, { 'content-type': 'text/xml' }).end(xml);
    }
    const action = `${call.service}:${call.operation}`;
    noteCall(counts, action);
    const refusal = faults.beforeCall?.(call);
    if (refusal !== undefined) return answerError(response, refusal);
    if (faults.losesReply?.(call) === true) loseReply(response);
    if (call.service === 'dynamodb') return tables.handle(request, response);
    const operation = services.get(call.service)?.get(call.operation);
    if (operation === undefined) {
      throw new ServiceError('UnknownOperationException', `${action} is not part of the local AWS`);
    }
    answer(response, 200, await operation(await readBody(request)));
  } catch (error) {
    answerError(response, refusalOf(toError(error)));
  }
}

function refusalOf(error: Error): Refusal {
  const { message } = error;
  if (!(error instanceof ServiceError)) return { type: 'InternalFailure', message };
  const { name: type, queryCode } = error;
  return queryCode === undefined ? { type, message } : { type, message, queryCode };
}

function noteCall(counts: Map<string, number>, action: string): void {
  counts.set(action, (counts.get(action) ?? 0) + 1);
}
