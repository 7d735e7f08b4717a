/**
 * `npm run bench -- api` measures what the bridge adds to a call. The same call goes to the upstream directly and
 * through the API, alternately, over loopback HTTP, with the stand-in of DynamoDB in a process of its own. The
 * results are ratios within one run, not times: of medians, or of the quantile that is the second argument, because on a busy
 * machine only the fastest calls show what the code costs. A conditional write of the stand-in is timed beside them, because every
 * command waits for two. "busy" is the part of a call in which at least one call of the table was under way, and "chain/hop" is
 * the least that a hop and two writes one behind the other can take. Each call is measured once more over a table in memory,
 * which answers at once: what is left is the bridge's own.
 */

import { fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { serve } from '@hono/node-server';
import { apiAccess } from '../../functions/api/access.ts';
import { createApi } from '../../functions/api/create-handler.ts';
import { READ_SOCKETS_MAX } from '../../functions/api/upstream/pass-through.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { createTokenStore, mintToken, tokenHash } from '../../shared/callers/tokens.ts';
import { REQUESTS_PER_MINUTE_MAX } from '../../shared/rates/account-rate.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { readBounded } from '../../shared/runtime/foreign-text.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import type { Table, TableIndexes, TablePartitions } from '../../shared/store/table.ts';
import { ANSWER_BYTES_MAX } from '../../shared/upstream/forward.ts';
import {
  createPooledHttp,
  type SendHttp,
  sendByFetch,
  sendByKind,
} from '../../shared/upstream/pooled-http.ts';
import { TIMEOUT_MS } from '../../shared/upstream/send-with-key.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';

const ROUNDS = Number(process.argv[2] ?? 200);
const QUANTILE = Number(process.argv[3] ?? 0.5);
/** By the end of the first warm-up all code is compiled, as in a process that has served for some seconds. */
const WARM_UPS = { 0: 300, 50: 20 } as const;
const LATENCIES_MS = [0, 50] as const;
const PROJECT = 'bold-sound-12345678';
const READ = { name: 'read (list computes)', method: 'GET', path: `/projects/${PROJECT}/endpoints` };
const COMMAND = {
  name: 'command (delete an OAuth provider), audited',
  method: 'DELETE',
  path: `/projects/${PROJECT}/auth/oauth_providers/google`,
};
/** The API has such a pool of sockets for reads. */
const pool = createPooledHttp(READ_SOCKETS_MAX);
const answer = JSON.stringify({
  endpoints: Array.from({ length: 5 }, (_, index) => ({
    id: `ep-a-${index}`,
    project_id: PROJECT,
    current_state: 'active',
    settings: {},
  })),
});

const tableProcess = fork(new URL('./api-table.ts', import.meta.url), {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const [endpoint] = (await once(tableProcess, 'message')) as [string];

const MIDDLE = `p${QUANTILE * 100}`;
const columns = [11, 8, 9, 15, 12, 8, 14, 10, 12, 18, 11, 11, 11, 11];
const row = (latency: string, table: string, call: string, cells: readonly string[]) =>
  latency.padEnd(10) +
  table.padEnd(11) +
  call.padEnd(46) +
  cells.map((cell, index) => cell.padStart(columns[index] ?? 10)).join('');

console.log(
  `${ROUNDS} calls each, alternating, in milliseconds. "hop" is a server with the server and the client of the bridge that only passes requests on; the client of the "fetch hop" is fetch.\n`,
);
console.log(
  row('upstream', 'table', 'call', [
    `direct ${MIDDLE}`,
    'p99',
    `hop ${MIDDLE}`,
    `fetch hop ${MIDDLE}`,
    `bridge ${MIDDLE}`,
    'p99',
    'bridge/direct',
    'of p99',
    'bridge/hop',
    'bridge/fetch hop',
    `write ${MIDDLE}`,
    'write/hop',
    `busy ${MIDDLE}`,
    'chain/hop',
  ]),
);
for (const latencyMs of LATENCIES_MS) {
  for (const storage of [dynamoDbStorage(endpoint), memoryStorage()]) await measure(latencyMs, storage);
}
pool.close();
tableProcess.kill();

async function measure(latencyMs: (typeof LATENCIES_MS)[number], storage: Storage): Promise<void> {
  const upstream = await listen(createUpstream(latencyMs));
  const hop = await serveOn(passOnTo(originOf(upstream), sendByKind(pool.sendRead, sendByFetch())));
  const fetchHop = await serveOn(passOnTo(originOf(upstream), sendByFetch()));
  const bridge = await startBridge(originOf(upstream), storage);
  for (const call of [READ, COMMAND]) {
    const times = {
      direct: [] as number[],
      hop: [] as number[],
      fetchHop: [] as number[],
      bridge: [] as number[],
      write: [] as number[],
      table: [] as number[],
    };
    for (let round = -WARM_UPS[latencyMs]; round < ROUNDS; round++) {
      const direct = await timeOf(`${originOf(upstream)}/api/v2${call.path}`, call.method, 'a-key');
      const hopped = await timeOf(`${originOf(hop)}/api/v2${call.path}`, call.method, 'a-key');
      const fetched = await timeOf(`${originOf(fetchHop)}/api/v2${call.path}`, call.method, 'a-key');
      storage.takeBusyMs();
      const through = await timeOf(`${bridge.origin}/api/v2${call.path}`, call.method, bridge.token);
      const busyMs = storage.takeBusyMs();
      const written = await timeOfWrite(storage);
      if (round < 0) continue;
      times.direct.push(direct);
      times.hop.push(hopped);
      times.fetchHop.push(fetched);
      times.bridge.push(through);
      times.write.push(written);
      times.table.push(busyMs);
    }
    const middle = {
      direct: quantile(times.direct, QUANTILE),
      hop: quantile(times.hop, QUANTILE),
      fetchHop: quantile(times.fetchHop, QUANTILE),
      bridge: quantile(times.bridge, QUANTILE),
      write: quantile(times.write, QUANTILE),
      table: quantile(times.table, QUANTILE),
    };
    const cells = [
      middle.direct,
      quantile(times.direct, 0.99),
      middle.hop,
      middle.fetchHop,
      middle.bridge,
      quantile(times.bridge, 0.99),
      middle.bridge / middle.direct,
      quantile(times.bridge, 0.99) / quantile(times.direct, 0.99),
      middle.bridge / middle.hop,
      middle.bridge / middle.fetchHop,
      middle.write,
      middle.write / middle.hop,
      middle.table,
      (middle.hop + 2 * middle.write) / middle.hop,
    ];
    console.log(
      row(
        `${latencyMs} ms`,
        storage.name,
        call.name,
        cells.map((cell) => cell.toFixed(2)),
      ),
    );
  }
  bridge.close();
  storage.close();
  for (const server of [upstream, hop, fetchHop]) {
    server.closeAllConnections();
    server.close();
  }
}

function createUpstream(latencyMs: number): Server {
  return createServer((request, response) => {
    request.resume();
    const send = () => response.setHeader('content-type', 'application/json').end(answer);
    if (latencyMs === 0) send();
    else setTimeout(send, latencyMs);
  });
}

/** Passes every request on, with the server that the bridge has here, and does nothing else. */
function passOnTo(upstreamOrigin: string, send: SendHttp): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const answered = await send({
      method: request.method,
      url: new URL(`${upstreamOrigin}${pathname}${search}`),
      headers: { authorization: request.headers.get('authorization') ?? '' },
      body: undefined,
      signal: request.signal,
      timeoutMs: TIMEOUT_MS,
    });
    const headers = { 'content-type': answered.headers.get('content-type') ?? '' };
    const body = await readBounded(answered.body, ANSWER_BYTES_MAX);
    return new Response(body, { status: answered.status, headers });
  };
}

async function serveOn(serveOne: (request: Request) => Response | Promise<Response>): Promise<Server> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = serve({ fetch: serveOne, hostname: '127.0.0.1', port: 0 }, () => resolve());
  await promise;
  return server as Server;
}

async function listen(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Storage {
  readonly name: string;
  /** The benchmark stores its token through this table: the role of the API must not write tokens. */
  readonly setUp: Table;
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly partitions: TablePartitions;
  /** Returns the milliseconds since the previous call in which a call of the table was under way. */
  readonly takeBusyMs: () => number;
  readonly close: () => void;
}

function dynamoDbStorage(tableEndpoint: string): Storage {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint: tableEndpoint, region: 'us-east-1', credentials });
  const table = createDynamoDbTable(client, 'bench');
  const ports = {
    table,
    indexes: createDynamoDbIndexes(client, 'bench'),
    partitions: createDynamoDbPartitions(client, 'bench', apiAccess),
  };
  return { name: 'stand-in', setUp: table, ...metered(ports), close: () => client.destroy() };
}

function memoryStorage(): Storage {
  const memory = createMemoryTable();
  const table = memory.as('api');
  const indexes = createMemoryIndexes(memory);
  const ports = { table, indexes, partitions: createMemoryPartitions(memory) };
  return { name: 'in memory', setUp: memory, ...metered(ports), close: () => {} };
}

type Ports = Pick<Storage, 'table' | 'indexes' | 'partitions'>;

function metered({ table, indexes, partitions }: Ports): Ports & Pick<Storage, 'takeBusyMs'> {
  const meter = createBusyMeter();
  return {
    table: meter.metered(table),
    indexes: meter.metered(indexes),
    partitions: meter.metered(partitions),
    takeBusyMs: () => meter.takeMs(),
  };
}

/** One write as the audit makes it. */
async function timeOfWrite({ setUp }: Storage): Promise<number> {
  const startedMs = performance.now();
  await setUp.update({
    key: { pk: 'TIMED', sk: randomUUID() },
    set: { kind: 'audit', outcome: 'done', status: 200 },
    condition: { kind: 'absent', name: 'outcome' },
  });
  return performance.now() - startedMs;
}

/** Measures the time in which at least one call was under way, however many were. */
function createBusyMeter() {
  let underWayCount = 0;
  let busySinceMs = 0;
  let busyMs = 0;
  const during = async (call: Promise<unknown>) => {
    if (underWayCount++ === 0) busySinceMs = performance.now();
    try {
      return await call;
    } finally {
      if (--underWayCount === 0) busyMs += performance.now() - busySinceMs;
    }
  };
  return {
    /** All methods of the object return promises. */
    metered: <Port extends object>(port: Port): Port =>
      Object.fromEntries(
        Object.entries(port).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
          name,
          (...args: unknown[]) => during(method(...args)),
        ]),
      ) as Port,
    takeMs() {
      const taken = busyMs;
      busyMs = 0;
      return taken;
    },
  };
}

async function startBridge(upstreamOrigin: string, { setUp, table, indexes, partitions }: Storage) {
  const [key, pepper] = [createSecret('a-key'), createSecret('a-pepper')];
  // The rate limit never applies, so that the work is measured and not the waiting.
  const account = {
    account_id: 'main',
    upstream_base_url: `${upstreamOrigin}/api/v2`,
    key_secret_id: 'k',
    requests_per_minute: REQUESTS_PER_MINUTE_MAX,
    requests_per_second: REQUESTS_PER_MINUTE_MAX,
    poller_requests_per_minute: 10,
    limit_requests_per_minute: 2 * REQUESTS_PER_MINUTE_MAX,
    caller_waits_max: 5,
    command_deadline_seconds_max: 86_400,
    poll_interval_seconds: 5,
    settle_within_seconds: 900,
  };
  const api = createApi(
    {
      accounts: [account],
      rules: { upstreamHosts: [], keySecretPrefix: 'bench/upstream-keys/' },
      extraRoutes: [],
      openCalls: [],
      labels: {},
      takesCallbacks: false,
      hasBusLog: false,
      alertChannels: [],
      deadLetterQueues: [],
      oidc: undefined,
    },
    {
      table,
      indexes,
      partitions,
      instancesMax: 1,
      busName: 'bench',
      busReader: async () => {
        throw new Error('Nothing here asks for the bus');
      },
      bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' as const })) },
      keyOf: () => ({ current: async () => key, refresh: async () => key }),
      pepper: async () => pepper,
      queueKey: async () => pepper,
      telemetry: silentTelemetry,
      clock: systemClock,
      random: systemRandom,
      wakes: { send: async () => {} },
      newId: randomUUID,
      sendRead: pool.sendRead,
    },
  );
  const minted = mintToken(randomBytes);
  await createTokenStore(setUp, systemClock).create({
    token_id: minted.id,
    account_id: 'main',
    client_id: 'bench',
    hash: tokenHash(minted.token.reveal(), pepper),
    scopes: [...SCOPES],
    created_at: new Date().toISOString(),
    expires_at_ms: Date.now() + 3_600_000,
  });
  const server = await serveOn(api.app.fetch);
  return {
    origin: originOf(server),
    token: minted.token.reveal(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function timeOf(url: string, method: string, token: string): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(url, { method, headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
  return performance.now() - startedMs;
}

function quantile(times: readonly number[], q: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}
