/**
 * `npm run bench -- poll-cpu` measures what a poll takes of a processor: the production poller runs in real time, with the
 * real SDK and real sockets, against a table and an upstream in other processes. The benchmark's world charges this
 * time for every answer.
 */

import { fork, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { pollerAccess } from '../../functions/poller/access.ts';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { createBridgeProcess } from './bridge/bridge-process.ts';
import { urlOf } from './bridge/virtual-upstream.ts';

const PROJECT_COUNT = 20;
const REQUESTS_PER_MINUTE = 1_200;

/** The engine compiles the code during the first invocation, and the operations of all projects are recorded. */
const WARM_UP_MS = 40_000;
const ROUNDS = 8;
const ROUND_MS = 10_000;

/** A function with this much memory has a whole core (AWS Lambda Developer Guide, "Memory"). */
const MEMORY_MB_OF_A_CORE = 1_769;
const POLLER_MEMORY_MB = 160;

const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc'];
const tableServer = fork(new URL('./api-table.ts', import.meta.url), { stdio });
const upstreamUrl = new URL('./poll-cpu-upstream.ts', import.meta.url);
const upstreamServer = fork(upstreamUrl, [String(PROJECT_COUNT)], { stdio });
try {
  const [[endpoint], [port]] = (await Promise.all([
    once(tableServer, 'message'),
    once(upstreamServer, 'message'),
  ])) as [[string], [number]];
  const origin = `http://127.0.0.1:${port}`;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  const deps = createBridgeProcess(
    { requestsPerMinute: REQUESTS_PER_MINUTE, pollIntervalMs: 500, hasHints: false },
    {
      fetch: (input, init) => fetch(urlOf(input).href.replace('http://upstream.invalid', origin), init),
      table: createDynamoDbTable(client, 'bench', pollerAccess),
      bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' }) as const) },
      clock: systemClock,
      random: systemRandom,
    },
  );
  const memory = emptyAccountMemory();
  await invoke(WARM_UP_MS);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    const pollCount = await invoke(ROUND_MS);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000 / pollCount);
  }
  // Other programs of the machine only ever add to the time, because they share its caches.
  const coreMs = Math.min(...times);
  const lambdaMs = (coreMs * MEMORY_MB_OF_A_CORE) / POLLER_MEMORY_MB;
  console.log(
    `a poll of a page of 100 operations takes ${coreMs.toFixed(2)} ms of a core, ` +
      `which is ${lambdaMs.toFixed(1)} ms on a function with ${POLLER_MEMORY_MB} MB`,
  );
  client.destroy();

  async function invoke(durationMs: number): Promise<number> {
    const signal = AbortSignal.timeout(durationMs);
    const report = await pollAccount(deps, memory, { signal, leaseMs: durationMs });
    return report.pollCount;
  }
} finally {
  tableServer.kill();
  upstreamServer.kill();
}
