/**
 * Tests what is left to other callers when some take what they can get, on several instances of the API and on
 * virtual time.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';
import {
  type CallerPlan,
  fairnessOf,
  greedy,
  MINUTE_MS,
  mostWithin,
  play,
  RATE,
  rateIn,
} from './rate-world.ts';

const { commandRequestsPerMinute: COMMANDS, limitRequestsPerMinute: LIMIT } = RATE;

/** This caller asks for less than an even part of what callers have together. */
const modestBeside = (greedyCount: number): CallerPlan => ({
  name: 'modest',
  perMinute: Math.min(60, (0.55 * COMMANDS) / (greedyCount + 1)),
});

const modest = modestBeside(1);

type Run = Awaited<ReturnType<typeof play>>;

/** Says how much of what the modest caller asked for was served, when it is too little. */
function modestShareOf({ served, asked }: Run): number | 'enough' {
  const share = (served.get('modest')?.length ?? 0) / (asked.get('modest') ?? 1);
  return share >= 0.95 ? 'enough' : share;
}

describe('a modest caller beside greedy ones', () => {
  const scenes = [1, 3, 50].flatMap((greedyCount) =>
    [1, 5, 10, 30].map((instanceCount) => ({ instanceCount, greedyCount })),
  );
  test.each(scenes)(
    'gets 95 % of what they ask for, with $instanceCount instances and $greedyCount greedy callers',
    async ({ instanceCount, greedyCount }) => {
      for (const seed of [1, 2]) {
        const callers = [...greedy(greedyCount, 1_000 / greedyCount), modestBeside(greedyCount)];
        const run = await play({ seed, instanceCount, callers });

        expect(mostWithin(run.sent.commands)).toBeLessThanOrEqual(COMMANDS);
        expect([seed, modestShareOf(run)]).toEqual([seed, 'enough']);
      }
    },
  );

  test('leaves the greedy ones nearly all of the rest, in equal parts', async () => {
    const { served, sent } = await play({
      seed: 4,
      instanceCount: 4,
      callers: [...greedy(3), modestBeside(3)],
    });

    expect(rateIn(sent.commands, 1, 6)).toBeGreaterThan(0.8 * COMMANDS);
    const counts = greedy(3).map(({ name }) => served.get(name)?.length ?? 0);
    expect(fairnessOf(counts)).toBeGreaterThan(0.97);
  });
});

test('fifty greedy callers get nearly all that a quiet poller leaves, in equal parts', async () => {
  const callers = greedy(50, 30);
  const run = await play({ seed: 1, instanceCount: 10, callers, pollsPerMinute: () => 90, minutes: 6 });

  const left = RATE.pollerRequestsPerMinute + COMMANDS - rateIn(run.sent.poller, 2, 6);
  expect(rateIn(run.sent.commands, 2, 6)).toBeGreaterThan(0.85 * left);
  const counts = callers.map(({ name }) => run.served.get(name)?.length ?? 0);
  expect(fairnessOf(counts)).toBeGreaterThanOrEqual(0.9);
  expect(mostWithin(run.all)).toBeLessThanOrEqual(LIMIT);
});

describe('in no minute the upstream sees more than the limit of commands,', () => {
  const crowd = (count: number, each: number, onceAtMs: number): readonly CallerPlan[] =>
    Array.from({ length: count }, (_, place) => ({ name: `fresh-${place}`, perMinute: each, onceAtMs }));
  const cases = [10, COMMANDS, 690].flatMap((limit) =>
    [1, 10, 30].flatMap((instanceCount) => [15, 400].map((tableMs) => ({ limit, instanceCount, tableMs }))),
  );

  test.each(cases)(
    'which is $limit, when 30 callers come at once to $instanceCount instances, with a table that takes $tableMs ms',
    async ({ limit, instanceCount, tableMs }) => {
      const rate = {
        pollerRequestsPerMinute: 10,
        commandRequestsPerMinute: limit,
        limitRequestsPerMinute: limit + 10,
      };
      const scene = { rate, instanceCount, tableMs, minutes: 4 };
      const atOnce = crowd(30, 12, 2.3 * MINUTE_MS);
      const before = [...greedy(2, 600), modest];
      const [quiet, busy, renewed] = [
        await play({ ...scene, seed: 7, callers: atOnce }),
        await play({ ...scene, seed: 8, callers: [...before, ...atOnce] }),
        await play({ ...scene, seed: 9, callers: [...before, ...atOnce], replacedAtMs: 2.3 * MINUTE_MS }),
      ];

      for (const { sent } of [quiet, busy, renewed]) {
        expect(mostWithin(sent.commands)).toBeLessThanOrEqual(limit);
        expect(sent.commands.length).toBeGreaterThan(0);
      }
      // The callers get most of their limit, so it is the limit that holds them and nothing much tighter.
      if (tableMs < 100) expect(busy.sent.commands.length / 4).toBeGreaterThan(0.6 * limit);
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
      for (const seed of [1, 2]) {
        const perMinute = 5 + 15 * seededRandom(seed).next();
        const callers = [...greedy(1, 600), { name: 'modest', perMinute }];
        const run = await play({ seed, instanceCount, callers, minutes: 20, isRefused: outages[when] });

        expect(mostWithin(run.sent.commands)).toBeLessThanOrEqual(COMMANDS);
        expect(run.sent.commands.length / run.minutes).toBeGreaterThan(0.3 * COMMANDS);
        expect([seed, modestShareOf(run)]).toEqual([seed, 'enough']);
      }
    },
  );

  test('an instance whose part is less than one request a minute sends nothing', async () => {
    const callers = greedy(1);
    const scene = { seed: 1, instanceCount: 1, callers, instancesMax: 2 * COMMANDS, isRefused: () => true };

    expect((await play(scene)).sent.commands).toEqual([]);
  });
});

describe('a caller who may have no more than 60 a minute', () => {
  test.each([1, 5, 30])(
    'gets that and no more, however many instances (%i) they ask',
    async (instanceCount) => {
      const { sent } = await play({ seed: 5, instanceCount, callers: greedy(1), perCaller: 60, minutes: 10 });

      expect(mostWithin(sent.commands)).toBeLessThanOrEqual(60);
      expect(sent.commands.length / 10).toBeGreaterThan(0.85 * 60);
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

  test.each([1, 5])(
    'are charged to caller and account on %i instances, and the upstream never sees more than its limit',
    async (instanceCount) => {
      for (const seed of [1, 2]) {
        const callers = [...stubborn(2), modestBeside(2)];
        const run = await play({ seed, instanceCount, callers, pollsPerMinute: () => 2_000 });

        expect(mostWithin(run.all)).toBeLessThanOrEqual(LIMIT);
        expect([seed, modestShareOf(run)]).toEqual([seed, 'enough']);
      }
    },
  );
});
