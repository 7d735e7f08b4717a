/**
 * Measures the processor time per leftover event. The production store, relay and adapters run with the real SDK
 * against a server in another process.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { pollerAccess } from '../../functions/poller/access.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import type { IndexPosition } from '../../shared/store/table.ts';

/** The loop that relays leftovers reads pages of this size. */
const PAGE_KEYS = 200;

/** These events are not measured: the engine compiles the code meanwhile. */
const WARM_UP_EVENTS = 4_000;
const MEASURED_EVENTS = 10_000;

export async function cpuMsPerEvent(): Promise<number> {
  const server = fork(new URL('./drain-server.ts', import.meta.url));
  try {
    const [port] = (await once(server, 'message')) as [number];
    const options = {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    };
    const table = createDynamoDbTable(new DynamoDBClient(options), 'bench', pollerAccess);
    const store = createBridgeStore(table, 'main', systemClock);
    const bus = createEventBridgeBus(new EventBridgeClient(options), 'bench');
    const deps = { store, bus, clock: systemClock, telemetry: silentTelemetry };
    await relayAbout(WARM_UP_EVENTS, deps);
    const before = process.cpuUsage();
    const count = await relayAbout(MEASURED_EVENTS, deps);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / count;
  } finally {
    server.kill();
  }
}

interface Deps {
  readonly store: ReturnType<typeof createBridgeStore>;
  readonly bus: ReturnType<typeof createEventBridgeBus>;
  readonly clock: typeof systemClock;
  readonly telemetry: typeof silentTelemetry;
}

async function relayAbout(eventCount: number, deps: Deps): Promise<number> {
  let publishedCount = 0;
  let start: IndexPosition | undefined;
  while (publishedCount < eventCount) {
    const page = await deps.store.findWorkPage({ limit: PAGE_KEYS, start });
    const records = await deps.store.readRecords(page.entries.map(({ key }) => key));
    const report = await relayRecords(deps, records);
    if (report.publishedCount === 0) throw new Error('The server accepted no event');
    publishedCount += report.publishedCount;
    start = page.next;
  }
  return publishedCount;
}
