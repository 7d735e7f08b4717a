/**
 * Runs the poller of an account of 5,000 projects in a process of its own; `npm run bench -- micro` starts it with as little
 * heap as its Lambda has. It loads all that production loads and fills its whole memory, while table and upstream
 * keep nothing. It prints the resident memory of the process in MiB.
 */

import { portsBesidePolls } from '../poller/ports-beside-polls.ts';
import '../../functions/poller/create-handler.ts';
import { REQUEST_BURST } from '../../functions/poller/account/account-budget.ts';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import { accountLimits, pollOptionsFor } from '../../functions/poller/create-account.ts';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { accountKey } from '../../shared/store/keys.ts';
import type { Item, Table } from '../../shared/store/table.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { createScheduler } from '../simulation/scheduler.ts';
import { urlOf } from './bridge/virtual-upstream.ts';
import { settledAnswer } from './settled-account.ts';

const PROJECT_COUNT = 5_000;

/** The project list is read for hints, and every project is read three times. */
const ROUNDS = 3;
const REQUESTS_PER_MINUTE = 700;
const START_MS = Date.UTC(2026, 0, 15, 12);

const scheduler = createScheduler(START_MS);
const clock = scheduler.clockOf({ name: 'probe', isCrashed: false, clockSkewMs: 0 });
const key = createSecret('probe');
const budget = createRequestBudget({ clock, requestsPerMinute: REQUESTS_PER_MINUTE, burst: REQUEST_BURST });
const durationMs = (ROUNDS * PROJECT_COUNT * 60_000) / REQUESTS_PER_MINUTE;
const stop = new AbortController();
void scheduler.delay(undefined, durationMs).then(() => stop.abort());
const table = forgetfulTable();
const store = createBridgeStore(table, 'probe', clock);
const polling = pollAccount(
  {
    ...portsBesidePolls(table, store, clock),
    upstream: createUpstreamClient({
      baseUrl: 'http://upstream.invalid/api/v2',
      apiKey: { current: async () => key, refresh: async () => key },
      clock,
      random: systemRandom,
      budget,
      fetch: async (input: string | URL | Request) => answer(urlOf(input)),
    }),
    store,
    random: systemRandom,
    bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' }) as const) },
    budget,
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      pollIntervalMsMin: 1_000,
      listing: { usualIntervalMs: 60_000, hintIntervalMsMin: 250 },
    }),
    clock,
    telemetry: silentTelemetry,
    lease: { acquire: async () => true, holds: () => true, release: async () => {} },
    options: pollOptionsFor('open', {}),
    limits: { ...accountLimits.run, requestsPerMinute: REQUESTS_PER_MINUTE },
  },
  emptyAccountMemory(),
  { signal: stop.signal, leaseMs: durationMs },
);
await scheduler.runUntil(START_MS + durationMs + 1_000);
const { pollCount } = await polling;
const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
const { rss, heapUsed } = process.memoryUsage();
const peak = process.resourceUsage().maxRSS * 1_024;
console.log(
  JSON.stringify({ pollCount, peak: mebibytes(peak), rss: mebibytes(rss), heap: mebibytes(heapUsed) }),
);

/** Accepts every write but keeps only the account. */
function forgetfulTable(): Table {
  const accountAt = accountKey('probe');
  let account: Item | undefined;
  return {
    get: async ({ sk }) => (sk === accountAt.sk ? account : undefined),
    getMany: async () => [],
    queryWork: async () => [],
    queryWorkPage: async () => ({ keys: [], next: undefined }),
    async update({ key: at, set }) {
      if (at.sk === accountAt.sk) account = { ...account, ...at, ...set };
      return 'applied';
    },
  };
}

function answer(url: URL): Response {
  const account = { projectCount: PROJECT_COUNT, startMs: START_MS };
  return new Response(JSON.stringify(settledAnswer(account, url)), {
    headers: { 'content-type': 'application/json', date: new Date(scheduler.now()).toUTCString() },
  });
}
