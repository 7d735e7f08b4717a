/** Runs the real handler between a simulated upstream and the local AWS, over HTTP, in this process. */

import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { STOP_RESERVE_MS } from '../../functions/poller/account/wind-up.ts';
import { createPollerHandler, type PollerHandler } from '../../functions/poller/create-handler.ts';
import type { DeliveredEvent } from '../../infra/local/aws/event-bridge/deliveries.ts';
import { type LocalAws, type LocalAwsFaults, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { scaledClock } from '../../infra/process/surroundings.ts';
import { type LocalUpstream, startUpstream } from '../../infra/simulator/start-upstream.ts';
import {
  type PollAccountRequest,
  type PollLaneRequest,
  pollerEnvironment,
} from '../../shared/config/poller-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { sendByFetch } from '../../shared/upstream/pooled-http.ts';
import { createTable } from '../local/aws/aws-under-test.ts';

export const API_KEY = 'end-to-end-canary-key';
const TABLE_NAME = 'end-to-end';
const EVENT_BUS_NAME = 'end-to-end';
const KEY_SECRET_ID = 'upstream-key';

export interface BridgeUnderTest {
  readonly clock: Clock;
  readonly upstream: LocalUpstream;
  readonly aws: LocalAws;
  readonly delivered: DeliveredEvent[];
  /** Creates a handler with an empty memory, as a cold start does. */
  readonly coldStart: () => PollerHandler;
  /** Runs one invocation for this much simulated time, or until the signal aborts. */
  readonly invoke: (
    handler: PollerHandler,
    durationMs: number,
    signal?: AbortSignal,
  ) => ReturnType<PollerHandler>;
  close(): Promise<void>;
}

export interface BridgeOptions {
  readonly seed: number;
  readonly projectCount: number;
  readonly speed: number;
  readonly faults?: LocalAwsFaults;
  readonly request?: Partial<PollAccountRequest>;
  readonly sessionsPerHour?: number;
  readonly historyMs?: number;
}

/** Closes what it has opened when a step fails. */
export async function startBridge(options: BridgeOptions): Promise<BridgeUnderTest> {
  const clock = scaledClock(options.speed, Date.now());
  const delivered: DeliveredEvent[] = [];
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startUpstream({ ...options, apiKeys: [API_KEY], clock }));
  const aws = await startLocalAws({ clock, ...(options.faults && { faults: options.faults }) });
  opened.defer(() => aws.close());
  Object.assign(process.env, aws.environment, { POWERTOOLS_METRICS_DISABLED: 'true', LOG_LEVEL: 'SILENT' });
  aws.secrets.create(KEY_SECRET_ID, API_KEY);
  aws.bus.createBus(EVENT_BUS_NAME);
  aws.bus.putRule({
    name: 'all',
    busName: EVENT_BUS_NAME,
    pattern: { source: ['operations-bridge'] },
    targets: [(event) => void delivered.push(event)],
  });
  const tables = new DynamoDBClient({});
  opened.defer(() => tables.destroy());
  await createTable(tables, tableDefinition(TABLE_NAME));

  const account = {
    account_id: 'main',
    upstream_base_url: upstream.baseUrl,
    key_secret_id: KEY_SECRET_ID,
    ...options.request,
  };
  const event: PollLaneRequest = { lane: 0, lanes: 1, shared_lanes: 1, accounts: [account] };
  const environment = pollerEnvironment.parse({ TABLE_NAME, EVENT_BUS_NAME });
  const kept = opened.move();
  return {
    clock,
    upstream,
    aws,
    delivered,
    coldStart: () =>
      createPollerHandler(environment, {
        // Tests watch the answers by replacing `fetch`, so it is looked up for each request.
        http: (request) => sendByFetch(globalThis.fetch)(request),
        clock,
        random: seededRandom(options.seed),
        newId: randomUUID,
        monotonicMs: () => performance.now() * options.speed,
      }),
    invoke(handler, durationMs, signal) {
      const deadlineMs = clock.now() + durationMs + STOP_RESERVE_MS;
      return handler(event, { getRemainingTimeInMillis: () => deadlineMs - clock.now() }, signal);
    },
    close: () => kept.disposeAsync(),
  };
}
