/**
 * Runs the naive client against the simulated service, directly and through the bridge, on virtual time. API, poller,
 * store protocol and service are the product's own; only the table and the bus are in memory.
 */

import { createUpstreamService, type UpstreamService } from '../../../infra/simulator/start-upstream.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createApiUnderTest } from '../../api/api-under-test.ts';
import { runPoller } from '../../api/poller-under-test.ts';
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
  void runPoller(
    { baseUrl: BASE_URL, key: KEY, fetch: world.fetch },
    api,
    world.clock,
    new AbortController().signal,
  );
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
