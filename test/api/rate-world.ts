/** Runs callers, instances of the API and a poller on virtual time, which share one rate limit through a table in memory. */

import { createAccountBudget, shareWithCommands } from '../../functions/poller/account/account-budget.ts';
import { createFairShare, type FairShare } from '../../shared/commands/fair-share.ts';
import type { AccountRate } from '../../shared/rates/account-rate.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import type { Table } from '../../shared/store/table.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { forward } from '../../shared/upstream/forward.ts';
import { only } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createScheduler } from '../simulation/scheduler.ts';

export const MINUTE_MS = 60_000;
const START_MS = 1_000_003;

/** The way to the table and back takes this time. */
const TABLE_MS = 15;

/** The upstream answers after this time. */
const ANSWER_MS = 80;

export interface CallerPlan {
  readonly name: string;
  readonly perMinute: number;
  /** The requests go to a project that stays locked, and each is repeated for as long as its caller waits. */
  readonly patienceMs?: number;
  /** The caller sends everything at this time, and then nothing more. */
  readonly onceAtMs?: number;
}

export interface Scene {
  readonly seed: number;
  readonly instanceCount: number;
  readonly callers: readonly CallerPlan[];
  readonly minutes?: number;
  /** Returns how many requests a minute the poller would like to send. Without it there is no poller. */
  readonly pollsPerMinute?: (sinceMs: number) => number;
  /** The poller's process ends without a word after this time, and another one begins. */
  readonly pollerLivesMs?: number;
  readonly rate?: AccountRate;
  readonly perCaller?: number;
  /** The instances of the beginning are gone from this time on, and new ones take their place. */
  readonly replacedAtMs?: number;
  /** This many instances may run. The default is the number that do. */
  readonly instancesMax?: number;
  /** Says whether the table refuses to be written, this long after the beginning. */
  readonly isRefused?: (sinceMs: number) => boolean;
  readonly tableMs?: number;
}

export const RATE: AccountRate = {
  pollerRequestsPerMinute: 350,
  commandRequestsPerMinute: 250,
  limitRequestsPerMinute: 700,
};

export async function play(scene: Scene) {
  const { seed, instanceCount, callers, minutes = 6, rate = RATE, tableMs = TABLE_MS } = scene;
  const { replacedAtMs = Number.POSITIVE_INFINITY, isRefused = () => false } = scene;
  const scheduler = createScheduler(START_MS);
  const random = seededRandom(seed);
  const memory = createMemoryTable();
  const stop = new AbortController();
  const sent = { commands: [] as number[], poller: [] as number[] };
  const generations = Number.isFinite(replacedAtMs) ? 2 : 1;
  const writes = Array.from({ length: generations * instanceCount }, () => [] as number[]);
  const clockOf = (name: string): Clock => scheduler.clockOf({ name, isCrashed: false, clockSkewMs: 0 });
  const slow = (table: Table, clock: Clock, written: number[] = []): Table => ({
    ...table,
    async get(key) {
      await clock.sleep(tableMs / 2);
      const item = await table.get(key);
      await clock.sleep(tableMs / 2);
      return item;
    },
    async update(update) {
      written.push(clock.now());
      await clock.sleep(tableMs / 2);
      if (isRefused(clock.now() - START_MS)) throw new Error('the write was throttled');
      const result = await table.update(update);
      await clock.sleep(tableMs / 2);
      return result;
    },
  });
  const instances = writes.map((written, place) => {
    const clock = clockOf(`api-${place}`);
    const share = createFairShare({
      clock,
      random,
      rate,
      callerRequestsPerMinute: scene.perCaller,
      store: createLedgerStore(slow(memory.as('api'), clock, written), 'main'),
      telemetry: silentTelemetry,
      instancesMax: scene.instancesMax ?? instanceCount,
    });
    return { clock, share };
  });
  const served = new Map(callers.map(({ name }) => [name, [] as number[]]));
  const asked = new Map(callers.map(({ name }) => [name, 0]));
  const waited = new Map(callers.map(({ name }) => [name, [] as number[]]));

  const instanceNow = () => {
    const generation = scheduler.now() - START_MS >= replacedAtMs ? 1 : 0;
    return instances[generation * instanceCount + Math.floor(random.next() * instanceCount)];
  };

  async function ask(plan: CallerPlan): Promise<void> {
    const clock = clockOf(plan.name);
    const one = () => {
      const instance = instanceNow();
      if (instance === undefined || stop.signal.aborted) return;
      asked.set(plan.name, (asked.get(plan.name) ?? 0) + 1);
      void serve(plan, instance);
    };
    if (plan.onceAtMs !== undefined) {
      await clock.sleep(plan.onceAtMs);
      for (let count = 0; count < plan.perMinute; count++) one();
      return;
    }
    while (!stop.signal.aborted) {
      await clock.sleep(((0.5 + random.next()) * MINUTE_MS) / plan.perMinute);
      one();
    }
  }

  async function serve(plan: CallerPlan, { clock, share }: (typeof instances)[number]): Promise<void> {
    const askedAtMs = scheduler.now();
    if ((await share.admit(plan.name)) > 0) return;
    served.get(plan.name)?.push(scheduler.now() - START_MS);
    waited.get(plan.name)?.push(scheduler.now() - askedAtMs);
    await sendOne(plan, clock, share);
  }

  /** Sends as the pass-through does: repetitions need a permit, and the answer is that the project is locked. */
  async function sendOne({ name, patienceMs = 0 }: CallerPlan, clock: Clock, share: FairShare) {
    const key = createSecret('a-key');
    const deps = {
      base: new URL('https://upstream.example/api/v2'),
      apiKey: { current: async () => key, refresh: async () => key },
      clock,
      random,
      budget: share.budget,
      fetch: (async () => {
        sent.commands.push(clock.now() - START_MS);
        await clock.sleep(ANSWER_MS);
        return Response.json({}, { status: patienceMs > 0 ? 423 : 200 });
      }) as typeof fetch,
    };
    const ids = { project_id: 'bold-sound-12345678', endpoint_id: 'ep-a' };
    const mayRepeat = async (restMs: number) => (await share.admit(name, { forMs: restMs })) === 0;
    await forward(deps, calls.restartEndpoint, { ids }, { patienceMs, mayRepeat });
  }

  /** Sends whenever it may and wants to, as the lane does. */
  async function poll(pollsPerMinute: (sinceMs: number) => number): Promise<void> {
    const owner = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
    const clock = scheduler.clockOf(owner);
    const budget = createAccountBudget({ clock, monotonicMs: () => scheduler.now() }, rate);
    const store = createLedgerStore(slow(memory.as('poller'), clock), 'main');
    void shareWithCommands(only({ clock, budget, commands: { store, rate }, signal: stop.signal }));
    const untilMs = clock.now() + (scene.pollerLivesMs ?? Number.POSITIVE_INFINITY);
    while (!stop.signal.aborted && clock.now() < untilMs) {
      const perMinute = pollsPerMinute(clock.now() - START_MS);
      const turn = Promise.all([budget.take(), clock.sleep(perMinute > 0 ? MINUTE_MS / perMinute : 1_000)]);
      await turn;
      if (perMinute > 0) sent.poller.push(clock.now() - START_MS);
      else budget.giveBack();
    }
    owner.isCrashed = true;
    if (!stop.signal.aborted) void poll(pollsPerMinute);
  }

  for (const plan of callers) void ask(plan);
  if (scene.pollsPerMinute !== undefined) void poll(scene.pollsPerMinute);
  await scheduler.runUntil(START_MS + minutes * MINUTE_MS);
  stop.abort();
  return { asked, served, waited, sent, writes, all: [...sent.commands, ...sent.poller], minutes };
}

export function mostWithin(atMs: readonly number[], durationMs = MINUTE_MS): number {
  const sorted = atMs.toSorted((a, b) => a - b);
  let first = 0;
  return sorted.reduce((most, now, place) => {
    while (now - (sorted[first] ?? now) >= durationMs) first += 1;
    return Math.max(most, place - first + 1);
  }, 0);
}

/** Returns how many a minute there were between two minutes of the run. */
export function rateIn(sinceMs: readonly number[], fromMinute: number, toMinute: number): number {
  const within = sinceMs.filter((at) => at >= fromMinute * MINUTE_MS && at < toMinute * MINUTE_MS);
  return within.length / (toMinute - fromMinute);
}

export const greedy = (count: number, perMinute = 1_500): readonly CallerPlan[] =>
  Array.from({ length: count }, (_, place) => ({ name: `greedy-${place}`, perMinute }));

/** Returns 1 when all have the same, and 1 / n when one of n has everything (Jain's index). */
export function fairnessOf(counts: readonly number[]): number {
  const sum = counts.reduce((total, count) => total + count, 0);
  const squares = counts.reduce((total, count) => total + count * count, 0);
  return squares === 0 ? 1 : (sum * sum) / (counts.length * squares);
}
