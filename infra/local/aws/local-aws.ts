/** Serves the local AWS on one HTTP port, which the real SDK clients reach through AWS_ENDPOINT_URL. */

import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { createClosingStack } from '../../process/closing-stack.ts';
import { type LocalDynamoDb, openLocalDynamoDb } from './dynamodb.ts';
import { openServices } from './open-services.ts';
import type { LocalQueues } from './queues/local-queues.ts';
import { type LocalAwsFaults, serveCall } from './serve-call.ts';
import { ACCOUNT_ID, REGION } from './services/arns.ts';
import type { EventBusOptions, LocalEventBus } from './services/event-bus.ts';
import type { LocalSecrets } from './services/secrets.ts';
import type { LocalTopics } from './services/topics.ts';

export interface LocalAwsOptions {
  readonly port?: number | undefined;
  /** The tables are kept in this folder. Without one they are in memory. */
  readonly tablesDir?: string | undefined;
  /** These tables are open already, and are closed with the local AWS. */
  readonly tables?: LocalDynamoDb | undefined;
  readonly clock?: Clock;
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
  const settings = { clock, newId, onAccepted, onDropped, entriesBytesMax, failEntry: faults.failEntry };
  let endpoint = '';
  const services = openServices({ ...settings, region: REGION, accountId: ACCOUNT_ID }, () => endpoint);
  const { byName, queryServices, bus, secrets, topics, queues } = services;
  const counts = new Map<string, number>();
  const accessKeyId = options.accessKeyId ?? randomBytes(ACCESS_KEY_BYTES).toString('hex');
  const tables = options.tables ?? (await openLocalDynamoDb(options.tablesDir));
  const before = faults.readsLate === undefined ? () => undefined : tables.rememberWrites();
  const server = createServer((request, response) => {
    void serveCall(
      {
        tables: { handle: (...exchange) => tables.handle(...exchange), before },
        services: byName,
        queryServices,
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
