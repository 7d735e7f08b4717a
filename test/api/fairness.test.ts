/**
 * Tests what is left to other callers when some take what they can get, on several instances of the API and on
 * virtual time.
 */

import { describe, expect, test } from 'vitest';
import {
  createAccountBudget,
  shareWithCommands,
} from '../../functions/poller/account/sending/account-budget.ts';
import { createFairShare, type FairShare } from '../../shared/commands/permits/fair-share.ts';
import { REQUESTS_PER_MINUTE_MAX } from '../../shared/core/rates/account-rate.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createCommandUsage, readCommandUsage } from '../../shared/store/command-usage.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { forward } from '../../shared/upstream/forward.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createScheduler } from '../simulation/scheduler.ts';

const MINUTE_MS = 60_000;
const START_MS = 1_000_003;
const COMMANDS = 250;
const PER_CALLER = 125;

/** The way to the table and back takes this time, so others learn a little later what an instance has counted. */
const TABLE_MS = 15;

/** The upstream answers after this time. */
const ANSWER_MS = 80;

interface CallerPlan {
  readonly name: string;
  readonly perMinute: number;
  /** The requests go to a project that stays locked, and each is repeated for as long as its caller waits. */
  readonly patienceMs?: number;
  /** The caller sends everything at this time, and then nothing more. */
  readonly onceAtMs?: number;
}

interface Scene {
  readonly seed: number;
  readonly instanceCount: number;
  readonly callers: readonly CallerPlan[];
  readonly minutes?: number;
  readonly hasPoller?: boolean;
  /** All callers together have `requestsPerMinute`, and each has `perCaller`. */
  readonly requestsPerMinute?: number;
  readonly perCaller?: number;
  /** The instances of the beginning are gone from this time on, and new ones take their place. */
  readonly replacedAtMs?: number;
  /** This many instances may run. The default is the number that do. */
  readonly instancesMax?: number;
  /** Says whether the table refuses the writes that count, this long after the beginning. */
  readonly isRefused?: (sinceMs: number) => boolean;
}

async function play(scene: Scene) {
  const { seed, instanceCount, callers, minutes = 6, hasPoller = false } = scene;
  const { requestsPerMinute = COMMANDS, perCaller = PER_CALLER } = scene;
  const { replacedAtMs = Number.POSITIVE_INFINITY } = scene;
  const { instancesMax = instanceCount, isRefused = () => false } = scene;
  const scheduler = createScheduler(START_MS);
  const random = seededRandom(seed);
  const table = createMemoryTable();
  const stop = new AbortController();
  const upstream: number[] = [];
  const generations = Number.isFinite(replacedAtMs) ? 2 : 1;
  const writes = Array.from({ length: generations * instanceCount }, () => [] as number[]);
  const clockOf = (name: string): Clock => scheduler.clockOf({ name, isCrashed: false, clockSkewMs: 0 });
  const instances = writes.map((written, place) => {
    const clock = clockOf(`api-${place}`);
    const counters = table.as('api');
    const usage = createCommandUsage(
      {
        async incrementMembers(increment) {
          written.push(clock.now());
          await clock.sleep(TABLE_MS);
          if (isRefused(clock.now() - START_MS)) throw new Error('the write was throttled');
          return counters.incrementMembers(increment);
        },
      },
      'main',
    );
    const options = { requestsPerMinute, callerRequestsPerMinute: perCaller };
    return {
      clock,
      share: createFairShare({ clock, usage, telemetry: silentTelemetry, instancesMax, ...options }),
    };
  });
  const asked = new Map(callers.map(({ name }) => [name, 0]));
  const served = new Map(callers.map(({ name }) => [name, [] as number[]]));
  const waited = new Map(callers.map(({ name }) => [name, [] as number[]]));

  const instanceNow = () => {
    const generation = scheduler.now() - START_MS >= replacedAtMs ? 1 : 0;
    return instances[generation * instanceCount + Math.floor(random.next() * instanceCount)];
  };

  async function ask(plan: CallerPlan): Promise<void> {
    const clock = clockOf(plan.name);
    if (plan.onceAtMs !== undefined) {
      await clock.sleep(plan.onceAtMs);
      for (let count = 0; count < plan.perMinute; count++) {
        const instance = instanceNow();
        asked.set(plan.name, (asked.get(plan.name) ?? 0) + 1);
        if (instance !== undefined) void serve(plan, instance);
      }
      return;
    }
    while (!stop.signal.aborted) {
      await clock.sleep(((0.5 + random.next()) * MINUTE_MS) / plan.perMinute);
      const instance = instanceNow();
      if (instance === undefined || stop.signal.aborted) continue;
      asked.set(plan.name, (asked.get(plan.name) ?? 0) + 1);
      void serve(plan, instance);
    }
  }
  async function serve(plan: CallerPlan, instance: (typeof instances)[number]): Promise<void> {
    const askedAtMs = scheduler.now();
    if ((await instance.share.admit(plan.name)) > 0) return;
    served.get(plan.name)?.push(scheduler.now());
    waited.get(plan.name)?.push(scheduler.now() - askedAtMs);
    await send(plan, instance, { random, upstream });
  }
  for (const plan of callers) void ask(plan);
  if (hasPoller) void poll({ clock: clockOf('poller'), table, stop, upstream });
  await scheduler.runUntil(START_MS + minutes * MINUTE_MS);
  stop.abort();
  return { asked, served, waited, upstream, writes };
}

/** Sends as the pass-through does: repetitions need a permit, and the answer is that the project is locked. */
async function send(
  { name, patienceMs = 0 }: CallerPlan,
  { clock, share }: { readonly clock: Clock; readonly share: FairShare },
  { random, upstream }: { readonly random: Random; readonly upstream: number[] },
): Promise<void> {
  const key = createSecret('a-key');
  const deps = {
    base: new URL('https://upstream.example/api/v2'),
    apiKey: { current: async () => key, refresh: async () => key },
    clock,
    random,
    budget: share.budget,
    fetch: (async () => {
      upstream.push(clock.now());
      await clock.sleep(ANSWER_MS);
      return Response.json({}, { status: patienceMs > 0 ? 423 : 200 });
    }) as typeof fetch,
  };
  const ids = { project_id: 'bold-sound-12345678', endpoint_id: 'ep-a' };
  const mayRepeat = async (restMs: number) => (await share.admit(name, restMs)) === 0;
  await forward(deps, calls.restartEndpoint, { ids }, { patienceMs, mayRepeat });
}

async function poll(parts: {
  readonly clock: Clock;
  readonly table: ReturnType<typeof createMemoryTable>;
  readonly stop: AbortController;
  readonly upstream: number[];
}): Promise<void> {
  const { clock, table, stop, upstream } = parts;
  const budget = createAccountBudget(clock, {
    pollerRequestsPerMinute: 350,
    commandRequestsPerMinute: COMMANDS,
  });
  const sentCount = () => readCommandUsage(table.as('poller'), 'main');
  const commands = { sentCount, requestsPerMinute: COMMANDS };
  void shareWithCommands({ clock, budget, commands, signal: stop.signal }, { sentCount: undefined });
  while (!stop.signal.aborted) {
    await budget.take();
    upstream.push(clock.now());
  }
}

function mostInAMinute(atMs: readonly number[]): number {
  const sorted = atMs.toSorted((a, b) => a - b);
  let first = 0;
  return sorted.reduce((most, now, place) => {
    while (now - (sorted[first] ?? now) >= MINUTE_MS) first += 1;
    return Math.max(most, place - first + 1);
  }, 0);
}

const greedy = (count: number): readonly CallerPlan[] =>
  Array.from({ length: count }, (_, place) => ({ name: `greedy-${place}`, perMinute: 1_500 }));

/** This caller asks for less than an even part of what callers have together. */
const modestBeside = (greedyCount: number): CallerPlan => ({
  name: 'modest',
  perMinute: Math.min(60, (0.7 * 0.9 * COMMANDS) / (greedyCount + 1)),
});

const modest = modestBeside(1);

describe('a modest caller beside greedy ones', () => {
  const scenes = [1, 3].flatMap((greedyCount) =>
    [1, 3, 8].map((instanceCount) => ({ instanceCount, greedyCount })),
  );
  test.each(scenes)(
    'gets 95 % of what they ask for, with $instanceCount instances and $greedyCount greedy callers',
    async ({ instanceCount, greedyCount }) => {
      for (const seed of [1, 2, 3, 4, 5]) {
        const scene = { seed, instanceCount, callers: [...greedy(greedyCount), modestBeside(greedyCount)] };

        const { asked, served, upstream } = await play(scene);

        expect(mostInAMinute(upstream)).toBeLessThanOrEqual(COMMANDS);
        const share = (served.get('modest')?.length ?? 0) / (asked.get('modest') ?? 1);
        expect([seed, share >= 0.95 ? 'enough' : share]).toEqual([seed, 'enough']);
      }
    },
  );

  test('leaves the greedy ones nearly all of the rest', async () => {
    const { served, upstream } = await play({
      seed: 4,
      instanceCount: 4,
      callers: [...greedy(3), modestBeside(3)],
    });

    expect(upstream.length / 6).toBeGreaterThan(0.8 * COMMANDS);
    for (const caller of greedy(3)) expect(served.get(caller.name)?.length).toBeGreaterThan(6 * 30);
  });
});

describe('in no minute the upstream sees more than the limit of commands,', () => {
  const crowd = (count: number, each: number, onceAtMs: number): readonly CallerPlan[] =>
    Array.from({ length: count }, (_, place) => ({ name: `fresh-${place}`, perMinute: each, onceAtMs }));
  const limits = [2, 10, 60, COMMANDS, 690];
  const cases = limits.flatMap((requestsPerMinute) =>
    [1, 4, 8, 30].map((instanceCount) => ({ requestsPerMinute, instanceCount })),
  );

  test.each(cases)(
    'which is $requestsPerMinute, when 30 callers come at once to $instanceCount instances, quiet, busy or new ones',
    async ({ requestsPerMinute, instanceCount }) => {
      const limit = { requestsPerMinute, perCaller: requestsPerMinute, instanceCount, minutes: 4 };
      const atOnce = crowd(30, 12, 2.3 * MINUTE_MS);
      const before = [...greedy(2), modest];
      const [quiet, busy, renewed] = [
        await play({ ...limit, seed: 7, callers: atOnce }),
        await play({ ...limit, seed: 8, callers: [...before, ...atOnce] }),
        await play({ ...limit, seed: 9, callers: [...before, ...atOnce], replacedAtMs: 2.3 * MINUTE_MS }),
      ];

      for (const { upstream } of [quiet, busy, renewed]) {
        expect(mostInAMinute(upstream)).toBeLessThanOrEqual(requestsPerMinute);
        expect(upstream.length).toBeGreaterThan(0);
      }
      // The callers get most of their limit, so it is the limit that holds them and nothing much tighter.
      const part = instanceCount > 8 || requestsPerMinute < 10 ? 0.4 : 0.6;
      expect(busy.upstream.length / 4).toBeGreaterThan(part * requestsPerMinute);
    },
  );
});

describe('while the table refuses the writes that count,', () => {
  const outages = {
    always: () => true,
    'for minutes': (sinceMs: number) => sinceMs >= 2.2 * MINUTE_MS && sinceMs < 16.7 * MINUTE_MS,
  };
  const cases = [1, 5, 10, 30].flatMap((instanceCount) =>
    (['always', 'for minutes'] as const).map((when) => ({ instanceCount, when })),
  );

  test.each(cases)(
    '$when, $instanceCount instances keep the limit together, and a modest caller is served',
    async ({ instanceCount, when }) => {
      // In the first minute of an outage each part grows from nothing, which the run is long enough to hold.
      const minutes = 20;
      for (const seed of [1, 2, 4]) {
        const perMinute = 5 + 15 * seededRandom(seed).next();
        const { asked, served, upstream } = await play({
          seed,
          instanceCount,
          callers: [...greedy(1), { name: 'modest', perMinute }],
          minutes,
          isRefused: outages[when],
        });

        expect(mostInAMinute(upstream)).toBeLessThanOrEqual(COMMANDS);
        expect(upstream.length / minutes).toBeGreaterThan(0.3 * COMMANDS);
        const share = (served.get('modest')?.length ?? 0) / (asked.get('modest') ?? 1);
        expect([seed, share >= 0.95 ? 'enough' : share]).toEqual([seed, 'enough']);
      }
    },
  );

  test('an instance whose part is less than one request a minute sends nothing', async () => {
    const { upstream } = await play({
      seed: 1,
      instanceCount: 1,
      callers: greedy(1),
      instancesMax: 2 * COMMANDS,
      isRefused: () => true,
    });

    expect(upstream).toEqual([]);
  });
});

describe('a greedy caller', () => {
  test.each([1, 2, 4, 8])(
    'gets their part and no more, however many instances (%i) they ask',
    async (instanceCount) => {
      const { served } = await play({ seed: 5, instanceCount, callers: greedy(1), minutes: 10 });

      // Every instance may let a burst of its own through, before it has learned of the others.
      expect((served.get('greedy-0')?.length ?? 0) / 10).toBeLessThan(1.1 * PER_CALLER);
      expect((served.get('greedy-0')?.length ?? 0) / 10).toBeGreaterThan(0.75 * PER_CALLER);
    },
  );
});

describe('repetitions of what a lock refuses', () => {
  const stubborn = (count: number): readonly CallerPlan[] =>
    Array.from({ length: count }, (_, place) => ({
      name: `stubborn-${place}`,
      perMinute: 400,
      patienceMs: 20_000,
    }));

  test.each([1, 2, 4])(
    'are charged to caller and account on %i instances, and the upstream never sees more than its limit',
    async (instanceCount) => {
      for (const seed of [1, 2]) {
        const callers = [...stubborn(2), modestBeside(2)];
        const { upstream, asked, served } = await play({ seed, instanceCount, callers, hasPoller: true });

        expect(mostInAMinute(upstream)).toBeLessThanOrEqual(REQUESTS_PER_MINUTE_MAX);
        const share = (served.get('modest')?.length ?? 0) / (asked.get('modest') ?? 1);
        expect([seed, share >= 0.95 ? 'enough' : share]).toEqual([seed, 'enough']);
      }
    },
  );

  test('of one caller stop when their part is used up', async () => {
    const { upstream } = await play({ seed: 3, instanceCount: 1, callers: stubborn(1), minutes: 10 });

    expect(mostInAMinute(upstream)).toBeLessThanOrEqual(PER_CALLER);
  });
});

test('counting costs no more than a write a second and instance', async () => {
  const minutes = 6;
  const { writes } = await play({ seed: 6, instanceCount: 4, callers: [...greedy(3), modest], minutes });

  for (const written of writes) {
    const seconds = minutes * 60;
    // When a window begins, one more write is allowed, which the next note makes up for.
    expect(written.length).toBeLessThanOrEqual(seconds + 1);
    expect(mostInAMinute(written)).toBeLessThanOrEqual(61);
  }
});
