/**
 * Runs the naive client against the simulated service, directly and through the bridge, on virtual time. API, poller,
 * store protocol and service are the product's own; only the table and the bus are in memory.
 */

import type { AccountDeps } from '../../../functions/poller/account/account-deps.ts';
import { emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import {
  accountLimits,
  pollOptionsFor,
  STOP_RESERVE_MS,
} from '../../../functions/poller/account/poller-limits.ts';
import { REQUEST_BURST } from '../../../functions/poller/account/sending/account-budget.ts';
import { createLease } from '../../../functions/poller/account/sending/lease.ts';
import { createTally } from '../../../functions/poller/account/status/tally.ts';
import { createPollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { createUpstreamService, type UpstreamService } from '../../../infra/simulator/start-upstream.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import { SHARES_PER_MINUTE } from '../../../shared/core/rates/account-rate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../../shared/store/adapters/bridge-store.ts';
import { readCommandUsage } from '../../../shared/store/command-usage.ts';
import { createUpstreamClient } from '../../../shared/upstream/http-client.ts';
import { createRequestBudget } from '../../../shared/upstream/request-budget.ts';
import { ACCOUNT_ID, type ApiUnderTest, createApiUnderTest } from '../../api/api-under-test.ts';
import { createScheduler, type Scheduler } from '../../simulation/scheduler.ts';
import { type NaiveAnswer, type NaiveSend, type NaiveTally, runNaiveClient } from './naive-client.ts';

const KEY = 'naive-key';
const BASE_URL = 'https://upstream.test/api/v2';
const START_MS = Date.UTC(2026, 0, 15, 12);

/** A call to the upstream takes this long, so that calls that follow one another do not fall into one instant. */
const LATENCY_MS = 50;

/** The lock of one round has been released when the next begins, also for a client that goes to the upstream directly. */
const PAUSE_MS = 30_000;

export interface NaiveOutcome extends NaiveTally {
  /** The rounds took this long on virtual time. */
  readonly durationMs: number;
  /** The upstream got this many commands. Through the bridge, more than the client has sent means repetitions. */
  readonly upstreamCommandCount: number;
  /** Counts the answers that came before the operations of their commands had ended well. */
  readonly answeredEarlyCount: number;
}

export interface NaiveOptions {
  readonly seed: number;
  readonly rounds: number;
}

export function runNaiveDirectly(options: NaiveOptions): Promise<NaiveOutcome> {
  const world = createNaiveWorld(options.seed);
  return runRounds(world, options.rounds, (path, init) => world.service.app.request(path, init), KEY);
}

/** `settles` is whether the client's token was created with `--settle`. */
export async function runNaiveThroughBridge(
  options: NaiveOptions & { readonly settles: boolean },
): Promise<NaiveOutcome> {
  const world = createNaiveWorld(options.seed);
  const api = createApiUnderTest({
    upstreamBaseUrl: BASE_URL,
    upstreamKey: KEY,
    fetch: world.fetch,
    clock: world.clock,
  });
  void runPoller(world, api);
  const token = await api.issueToken({ settles: options.settles, validForMs: 1e9 });
  const outcome = await runRounds(world, options.rounds, (path, init) => api.app.request(path, init), token);
  const early = api.logged.filter(({ event }) => event === 'command.answered_early');
  return { ...outcome, answeredEarlyCount: early.length };
}

interface NaiveWorld {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly service: UpstreamService;
  readonly fetch: typeof fetch;
  commandCount: number;
}

function createNaiveWorld(seed: number): NaiveWorld {
  const scheduler = createScheduler(START_MS);
  const clock = scheduler.clockOf({ name: 'everything', isCrashed: false, clockSkewMs: 0 });
  const service = createUpstreamService({
    seed,
    projectCount: 1,
    sessionsPerHour: 0,
    historyMs: 1_000,
    trouble: 0,
    apiKeys: [KEY],
    dials: { latencyMs: LATENCY_MS },
    clock,
  });
  const world: NaiveWorld = {
    scheduler,
    clock,
    service,
    commandCount: 0,
    fetch: async (input, init) => {
      const { pathname, search } = new URL(input instanceof Request ? input.url : input);
      if ((init?.method ?? 'GET') !== 'GET') world.commandCount += 1;
      return service.app.request(`${pathname}${search}`, init);
    },
  };
  return world;
}

async function runRounds(
  world: NaiveWorld,
  rounds: number,
  request: (path: string, init: RequestInit) => Response | Promise<Response>,
  key: string,
): Promise<NaiveOutcome> {
  const { scheduler, service } = world;
  const send: NaiveSend = async (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await request(`/api/v2${path}`, init);
    return { status: response.status, body: parsed(await response.text()) };
  };
  const [project] = service.world().projects();
  const pause = () => world.clock.sleep(PAUSE_MS);
  const client = runNaiveClient({ send, pause }, project?.id ?? '', rounds);
  const tally = await passTimeUntil(client, scheduler);
  return {
    ...tally,
    durationMs: scheduler.now() - START_MS,
    upstreamCommandCount: world.commandCount,
    answeredEarlyCount: 0,
  };
}

/** Virtual time passes only while it is asked to. A client that fails ends the loop, too. */
async function passTimeUntil<T>(promise: Promise<T>, scheduler: Scheduler): Promise<T> {
  const state = { isOver: false };
  const end = () => {
    state.isOver = true;
  };
  promise.then(end, end);
  while (!state.isOver) await scheduler.runUntil(scheduler.now() + 1_000);
  return promise;
}

/** An answer without a body, as after 204, is undefined. */
function parsed(text: string): NaiveAnswer['body'] {
  return text === '' ? undefined : JSON.parse(text);
}

/** The deployment invokes the poller once a minute and stops it before the next invocation. */
async function runPoller(world: NaiveWorld, api: ApiUnderTest): Promise<never> {
  const { scheduler, clock } = world;
  const deps = pollerDeps(world, api);
  const memory = emptyAccountMemory();
  const durationMs = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
  for (;;) {
    const stop = new AbortController();
    void clock.sleep(durationMs).then(() => stop.abort(new Error('deadline')));
    const invocation = pollAccount(deps, memory, { signal: stop.signal, leaseMs: durationMs });
    await Promise.all([invocation.catch(() => {}), scheduler.delay(undefined, pollerSchedule.everyMs)]);
  }
}

function pollerDeps({ clock, fetch, scheduler }: NaiveWorld, { memory: table }: ApiUnderTest): AccountDeps {
  const poller = table.as('poller');
  const random = seededRandom(1);
  const requestsPerMinute = SHARES_PER_MINUTE.poller;
  const budget = createRequestBudget({ clock, requestsPerMinute, burst: REQUEST_BURST, startsEmpty: true });
  const { telemetry, tally } = createTally(silentTelemetry);
  const store = createBridgeStore(poller, ACCOUNT_ID, clock);
  const key = createSecret(KEY);
  const apiKey = { current: async () => key, refresh: async () => key };
  return {
    upstream: createUpstreamClient({ baseUrl: BASE_URL, apiKey, clock, random, budget, fetch }),
    store,
    status: {
      read: () => readAccountStatus(poller, ACCOUNT_ID),
      write: (status) => writeAccountStatus(poller, status),
      tally,
      requestsPerMinute,
    },
    bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' as const })) },
    budget,
    commands: {
      sentCount: () => readCommandUsage(poller, ACCOUNT_ID),
      requestsPerMinute: SHARES_PER_MINUTE.commands,
    },
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute,
      pollIntervalMsMin: 5_000,
      listing: { intervalMsMax: accountLimits.run.discoveryIntervalMs, hintIntervalMsMin: undefined },
    }),
    clock,
    telemetry,
    lease: createLease({
      store,
      clock,
      monotonicMs: () => scheduler.now(),
      newId: () => String(random.next()),
      budget,
    }),
    key: { hasAnother: async () => false },
    options: pollOptionsFor('open', {}),
    limits: { ...accountLimits.run, requestsPerMinute, pollsAtOnce: 2 },
  };
}
