/**
 * Tests that commands and the poller spend one rate limit, in processes that know of each other only through the
 * table.
 */

import { describe, expect, test } from 'vitest';
import {
  createAccountBudget,
  shareWithCommands,
} from '../../functions/poller/account/sending/account-budget.ts';
import { createFairShare } from '../../shared/commands/permits/fair-share.ts';
import {
  REQUESTS_PER_MINUTE_MAX,
  USAGE_LOOK_MS,
  unknownCommandsMax,
} from '../../shared/core/rates/account-rate.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createCommandUsage, readCommandUsage } from '../../shared/store/command-usage.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createScheduler } from '../simulation/scheduler.ts';

const MINUTE_MS = 60_000;
const START_MS = 1_000_000;

interface Account {
  readonly poller: number;
  readonly commands: number;
  /** Returns how many commands a minute callers ask for at this time. */
  readonly askedPerMinute: (nowMs: number) => number;
  readonly instanceCount?: number;
  readonly minutes?: number;
  /** The poller's process is replaced after this time. */
  readonly restartEveryMs?: number;
  readonly isTableDown?: () => boolean;
  readonly seed?: number;
}

/** Runs a poller that always has something to poll, and callers that ask at the instances of the API in turn. */
async function run(account: Account) {
  const { poller, commands, instanceCount = 1, minutes = 10, seed = 1 } = account;
  const { restartEveryMs = Number.POSITIVE_INFINITY, isTableDown = () => false } = account;
  const scheduler = createScheduler(START_MS);
  const random = seededRandom(seed);
  const table = createMemoryTable();
  const sent = { poller: [] as number[], commands: [] as number[] };
  const endMs = START_MS + minutes * MINUTE_MS;
  const stop = new AbortController();
  const fails = async () => {
    if (isTableDown()) throw new Error('the table is down');
  };
  const usage = createCommandUsage(table.as('api'), 'main');
  const instances = Array.from({ length: instanceCount }, (_, place) =>
    createFairShare({
      clock: scheduler.clockOf({ name: `api-${place}`, isCrashed: false, clockSkewMs: 0 }),
      requestsPerMinute: commands,
      callerRequestsPerMinute: commands,
      usage: {
        note: (noted) => fails().then(() => usage.note(noted)),
        noteAndAsk: (noted, asked) => fails().then(() => usage.noteAndAsk(noted, asked)),
      },
      telemetry: silentTelemetry,
      instancesMax: instanceCount,
    }),
  );

  async function poll(): Promise<void> {
    const owner = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
    const clock = scheduler.clockOf(owner);
    const rate = { pollerRequestsPerMinute: poller, commandRequestsPerMinute: commands };
    const budget = createAccountBudget(clock, rate);
    const sentCount = () => fails().then(() => readCommandUsage(table.as('poller'), 'main'));
    const port = { sentCount, requestsPerMinute: commands };
    void shareWithCommands({ clock, budget, commands: port, signal: stop.signal }, { sentCount: undefined });
    const untilMs = clock.now() + restartEveryMs;
    while (!stop.signal.aborted && clock.now() < untilMs) {
      await budget.take();
      sent.poller.push(clock.now());
    }
    owner.isCrashed = true;
    if (!stop.signal.aborted) void poll();
  }

  async function ask(): Promise<void> {
    const clock = scheduler.clockOf({ name: 'callers', isCrashed: false, clockSkewMs: 0 });
    for (let count = 0; !stop.signal.aborted; count++) {
      const perMinute = account.askedPerMinute(clock.now() - START_MS);
      await clock.sleep(perMinute === 0 ? 1_000 : (2 * random.next() * MINUTE_MS) / perMinute);
      const api = instances[count % instanceCount];
      if (perMinute === 0 || api === undefined || (await api.admit('app', 0)) > 0) continue;
      void api.budget.take();
      sent.commands.push(clock.now());
    }
  }

  void poll();
  void ask();
  await scheduler.runUntil(endMs);
  stop.abort();
  return sent;
}

function mostInAMinute(atMs: readonly number[]): number {
  const sorted = atMs.toSorted((a, b) => a - b);
  let first = 0;
  return sorted.reduce((most, now, place) => {
    while (now - (sorted[first] ?? now) >= MINUTE_MS) first += 1;
    return Math.max(most, place - first + 1);
  }, 0);
}

const rateIn = (atMs: readonly number[], fromMinute: number, toMinute: number) =>
  atMs.filter((at) => at >= START_MS + fromMinute * MINUTE_MS && at < START_MS + toMinute * MINUTE_MS)
    .length /
  (toMinute - fromMinute);

const never = () => 0;
const always = () => 2_000;
const inBursts = (nowMs: number) => (Math.floor(nowMs / 90_000) % 2 === 0 ? 0 : 2_000);

describe('the rate limit of one account', () => {
  test('is all the poller’s while there are no commands', async () => {
    const { poller } = await run({ poller: 350, commands: 250, askedPerMinute: never });

    expect(rateIn(poller, 1, 10)).toBeGreaterThan(0.97 * 600);
  });

  test('is in its configured parts while both want more', async () => {
    const { poller, commands } = await run({ poller: 350, commands: 250, askedPerMinute: always });

    expect(rateIn(poller, 1, 10)).toBeGreaterThan(0.97 * 350);
    expect(rateIn(commands, 1, 10)).toBeGreaterThan(0.88 * 250);
  });

  test('is the poller’s again seconds after the last command', async () => {
    const { poller } = await run({ poller: 350, commands: 250, askedPerMinute: inBursts, minutes: 6 });

    expect(rateIn(poller, 3.2, 4.4)).toBeGreaterThan(0.97 * 600);
  });

  const askedPerMinute = { never, always, inBursts };
  const cases = [
    { poller: 350, commands: 250 },
    { poller: 450, commands: 250 },
    { poller: 600, commands: 100 },
    { poller: 100, commands: 600 },
    { poller: 640, commands: 60 },
    { poller: 350, commands: 350 },
    { poller: 10, commands: 690 },
  ].flatMap((parts) => (['never', 'always', 'inBursts'] as const).map((asked) => ({ ...parts, asked })));
  test.each(cases)(
    '$poller for the poller and $commands for commands, asked $asked, are never more than the upstream allows',
    async ({ asked, ...parts }) => {
      for (const seed of [1, 2, 3]) {
        const restartEveryMs = seed === 3 ? 47_000 : Number.POSITIVE_INFINITY;
        const sent = await run({ ...parts, askedPerMinute: askedPerMinute[asked], restartEveryMs, seed });

        expect(mostInAMinute([...sent.poller, ...sent.commands])).toBeLessThanOrEqual(
          REQUESTS_PER_MINUTE_MAX,
        );
        // Each side gets its own part, however large the other's part is. The first minutes are the way there.
        if (restartEveryMs === Number.POSITIVE_INFINITY && asked === 'always')
          expect(rateIn(sent.poller, 3, 10)).toBeGreaterThan(0.85 * parts.poller);
      }
    },
  );

  test('holds for all instances of the API together, but for what was under way', async () => {
    const { commands } = await run({ poller: 350, commands: 250, askedPerMinute: always, instanceCount: 4 });

    // Each instance begins with a burst of its own, before it has heard of the others.
    expect(rateIn(commands, 1, 10)).toBeLessThan(1.02 * 250);
  });

  test('is all there again soon after the table could not be read for a while', async () => {
    const minute = (nowMs: number) => Math.floor(nowMs / MINUTE_MS);
    let nowMs = () => 0;
    const { poller } = await run({
      poller: 350,
      commands: 250,
      askedPerMinute: (atMs) => {
        nowMs = () => atMs;
        return minute(atMs) < 4 ? 2_000 : 60;
      },
      isTableDown: () => minute(nowMs()) === 2 || minute(nowMs()) === 3,
    });

    expect(rateIn(poller, 2.2, 4)).toBeLessThan(1.1 * 350);
    expect(rateIn(poller, 4.2, 5.2)).toBeGreaterThan(0.9 * (600 - 60));
  });

  test('was used by commands of long ago in no minute of ours', async () => {
    const scheduler = createScheduler(START_MS);
    const clock = scheduler.clockOf({ name: 'poller', isCrashed: false, clockSkewMs: 0 });
    const charged: number[] = [];
    let sentCount = 9_000;
    const commands = { sentCount: async () => sentCount, requestsPerMinute: 250 };
    const stop = new AbortController();
    const budget = { charge: (count: number) => void charged.push(count) };
    void shareWithCommands({ clock, budget, commands, signal: stop.signal }, { sentCount: 1_000 });
    await scheduler.runUntil(START_MS + 1);
    sentCount += 70;
    await scheduler.runUntil(START_MS + USAGE_LOOK_MS + 1);
    stop.abort();

    expect(charged).toEqual([unknownCommandsMax(250), 70]);
  });

  test('leaves the poller its part while the table cannot be read, and commands theirs', async () => {
    const { poller, commands } = await run({
      poller: 350,
      commands: 250,
      askedPerMinute: always,
      isTableDown: () => true,
    });

    expect(rateIn(poller, 1, 10)).toBeGreaterThan(0.97 * 350);
    expect(rateIn(poller, 1, 10)).toBeLessThan(1.03 * 350);
    expect(rateIn(commands, 1, 10)).toBeGreaterThan(0.88 * 250);
  });
});
