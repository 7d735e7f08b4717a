/**
 * Runs the poller's handler on virtual time, with the real clients of AWS, between a scripted AWS and a simulated upstream. What it
 * measures and logs is read from its output, as CloudWatch reads it.
 */

import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { onTestFinished, vi } from 'vitest';
import { createPollerHandler, type PollerHandler } from '../../../functions/poller/create-handler.ts';
import type { DeliveredEvent } from '../../../infra/local/aws/event-bridge/deliveries.ts';
import { createUpstreamService, type UpstreamService } from '../../../infra/simulator/start-upstream.ts';
import { type PollAccountRequest, pollerEnvironment } from '../../../shared/config/poller-config.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { sendByFetch } from '../../../shared/upstream/pooled-http.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';
import { openScriptedAws, type ScriptedAws } from '../scripted-aws.ts';
import { startVirtualTime, type VirtualTime } from '../virtual-time.ts';

export const TABLE_NAME = 'poller-door';
export const EVENT_BUS_NAME = 'poller-door';
const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

/** The template gives the poller this time-out. */
export const TIMEOUT_MS = 66_000;

const KEY = 'poller-door-canary-key';
const secretIdOf = (accountId: string) => `upstream-key/${accountId}`;

export interface PollerOptions {
  readonly seed: number;
  readonly accounts?: readonly (Partial<PollAccountRequest> & { readonly account_id: string })[];
  readonly projectCount?: number;
  readonly sessionsPerHour?: number;
}

export interface PollerOnAws extends ScriptedAws {
  readonly time: VirtualTime;
  readonly upstream: UpstreamService;
  readonly delivered: readonly DeliveredEvent[];
  /** The requests that reached the upstream, by the account that sent them. */
  readonly requests: Map<string, number>;
  /** The lines of the log, metrics among them. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  coldStart(): PollerHandler;
  /** Runs one invocation that Lambda would kill after `timeoutMs`. Resolves to how long it took, in virtual time, also when it failed. */
  invoke(handler: PollerHandler, timeoutMs?: number): Promise<number>;
}

export async function startPoller(options: PollerOptions): Promise<PollerOnAws> {
  const { seed, accounts = [{ account_id: 'main' }] } = options;
  // Creating a table waits in real time.
  const hooks: { time?: VirtualTime } = {};
  const scripted = await openScriptedAws(() => hooks.time?.hold() ?? (() => {}));
  const { aws } = scripted;
  const tables = new DynamoDBClient({});
  await createTable(tables, tableDefinition(TABLE_NAME));
  tables.destroy();
  const lines = readOutput();
  const delivered: DeliveredEvent[] = [];
  aws.bus.createBus(EVENT_BUS_NAME);
  aws.bus.putRule({
    name: 'all',
    busName: EVENT_BUS_NAME,
    pattern: { source: ['operations-bridge'] },
    targets: [(event) => void delivered.push(event)],
  });
  for (const { account_id } of accounts) aws.secrets.create(secretIdOf(account_id), KEY);

  const time = startVirtualTime(START_MS);
  hooks.time = time;
  const upstream = createUpstreamService({
    seed,
    projectCount: options.projectCount ?? 1,
    sessionsPerHour: options.sessionsPerHour ?? 0,
    historyMs: 0,
    apiKeys: [KEY],
    clock: systemClock,
  });
  const requests = new Map<string, number>();
  const environment = pollerEnvironment.parse({ TABLE_NAME, EVENT_BUS_NAME });
  const event = {
    lane: 0,
    lanes: 1,
    shared_lanes: 1,
    accounts: accounts.map((account) => ({
      upstream_base_url: `https://${account.account_id}.example.com/api/v2`,
      key_secret_id: secretIdOf(account.account_id),
      ...account,
    })),
  };
  const send = async (url: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const request = new Request(url, init);
    const accountId = new URL(request.url).hostname.split('.')[0] ?? '';
    requests.set(accountId, (requests.get(accountId) ?? 0) + 1);
    return upstream.app.fetch(request);
  };
  const noTimeout = new AbortController().signal;
  const random = seededRandom(seed);
  return Object.assign(scripted, {
    time,
    upstream,
    delivered,
    requests,
    lines,
    coldStart: () =>
      createPollerHandler(environment, {
        http: sendByFetch(send, () => noTimeout),
        clock: systemClock,
        random,
        newId: randomUUID,
        monotonicMs: () => Date.now(),
      }),
    async invoke(handler: PollerHandler, timeoutMs = TIMEOUT_MS) {
      const beganMs = time.now();
      const context = { getRemainingTimeInMillis: () => beganMs + timeoutMs - time.now() };
      await time.run(handler(event, context).catch(() => {}));
      return time.now() - beganMs;
    },
  });
}

/** Powertools writes each line with one call of the console. */
function readOutput(): Readonly<Record<string, unknown>>[] {
  const lines: Record<string, unknown>[] = [];
  const take = (line: unknown) => void lines.push(JSON.parse(String(line)));
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(take),
  );
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return lines;
}
