/** Tests that callers and the poller spend one rate limit, in processes that know of each other only through the table. */

import { describe, expect, test } from 'vitest';
import { greedy, MINUTE_MS, mostWithin, play, RATE, rateIn } from './rate-world.ts';

const WHOLE = RATE.pollerRequestsPerMinute + RATE.commandRequestsPerMinute;
const HUNGRY = () => 2_000;
const QUIET = () => 80;
const waking = (sinceMs: number) => (sinceMs < 3 * MINUTE_MS ? 80 : 2_000);

describe('the rate limit of one account', () => {
  test('is all the poller’s while there are no callers', async () => {
    const { sent } = await play({ seed: 1, instanceCount: 1, callers: [], pollsPerMinute: HUNGRY });

    expect(rateIn(sent.poller, 2, 6)).toBeGreaterThan(0.96 * WHOLE);
  });

  test('is in its configured parts while both want more', async () => {
    const run = await play({
      seed: 1,
      instanceCount: 1,
      callers: greedy(2),
      pollsPerMinute: HUNGRY,
      minutes: 8,
    });

    expect(rateIn(run.sent.poller, 2, 8)).toBeGreaterThan(0.95 * RATE.pollerRequestsPerMinute);
    expect(rateIn(run.sent.commands, 2, 8)).toBeGreaterThan(0.85 * RATE.commandRequestsPerMinute);
    expect(mostWithin(run.all)).toBeLessThanOrEqual(RATE.limitRequestsPerMinute);
  });

  test('is the callers’ as far as the poller leaves it, and the poller’s again a minute after it needs it', async () => {
    const run = await play({
      seed: 1,
      instanceCount: 2,
      callers: greedy(3),
      pollsPerMinute: waking,
      minutes: 7,
    });

    expect(rateIn(run.sent.commands, 1, 3)).toBeGreaterThan(0.8 * (WHOLE - 2 * 80));
    expect(rateIn(run.sent.poller, 4.2, 7)).toBeGreaterThan(0.95 * RATE.pollerRequestsPerMinute);
    expect(mostWithin(run.all)).toBeLessThanOrEqual(RATE.limitRequestsPerMinute);
  });

  test('lets one caller send 200 requests in ten seconds on an idle bridge, as the service itself does', async () => {
    const burst = { name: 'alone', perMinute: 1_440 };
    const run = await play({
      seed: 1,
      instanceCount: 5,
      callers: [burst],
      pollsPerMinute: QUIET,
      minutes: 1,
    });

    const first = run.served.get('alone')?.slice(0, 200) ?? [];
    expect(first.at(-1)).toBeLessThan(10_000);
    expect(mostWithin(run.sent.commands, 1_000)).toBeLessThanOrEqual(40);
    expect(mostWithin(run.all)).toBeLessThanOrEqual(RATE.limitRequestsPerMinute);
  });

  const inBursts = (nowMs: number) => (Math.floor(nowMs / 90_000) % 2 === 0 ? 60 : 2_000);
  const cases = [
    { poller: 350, commands: 250, limit: 700 },
    { poller: 600, commands: 100, limit: 700 },
    { poller: 100, commands: 600, limit: 700 },
    { poller: 10, commands: 690, limit: 700 },
    { poller: 4_000, commands: 1_000, limit: 6_000 },
  ].flatMap((parts) => [15, 400].map((tableMs) => ({ ...parts, tableMs })));
  test.each(cases)(
    '$poller for the poller and $commands for callers of $limit is kept in every minute, with a table that takes $tableMs ms',
    async ({ poller, commands, limit, tableMs }) => {
      const rate = {
        pollerRequestsPerMinute: poller,
        commandRequestsPerMinute: commands,
        limitRequestsPerMinute: limit,
      };
      for (const [seed, pollsPerMinute] of [HUNGRY, inBursts].entries()) {
        const scene = { seed, rate, tableMs, pollsPerMinute, instanceCount: 3, callers: greedy(2) };
        const run = await play({ ...scene, minutes: 5, ...(seed === 1 && { pollerLivesMs: 47_000 }) });

        expect(mostWithin(run.all)).toBeLessThanOrEqual(limit);
        const wanted = Math.min(2_000, poller);
        if (seed === 0 && tableMs < 100) expect(rateIn(run.sent.poller, 3, 5)).toBeGreaterThan(0.85 * wanted);
      }
    },
  );

  test.each([1, 30])(
    'is kept while the table refuses to count what %i instances send',
    async (instanceCount) => {
      const isRefused = (sinceMs: number) => sinceMs > 3 * MINUTE_MS;
      const callers = greedy(2, 600);
      const scene = { instanceCount, callers, isRefused, pollsPerMinute: HUNGRY, minutes: 8 };
      const run = await play({ seed: 1, ...scene });

      expect(mostWithin(run.all)).toBeLessThanOrEqual(RATE.limitRequestsPerMinute);
      expect(rateIn(run.sent.poller, 5, 8)).toBeGreaterThan(0.9 * RATE.pollerRequestsPerMinute);
      expect(rateIn(run.sent.commands, 5, 8)).toBeGreaterThan(0.5 * RATE.commandRequestsPerMinute);
    },
  );

  test.each([90, 300, 600])(
    'holds a steady caller of %i requests a minute hardly ever',
    async (perMinute) => {
      const rate = { ...RATE, commandRequestsPerMinute: 1_000, limitRequestsPerMinute: 2_000 };
      const callers = [{ name: 'steady', perMinute }];
      const { waited } = await play({ seed: 1, rate, instanceCount: 1, callers, minutes: 3 });

      const waits = (waited.get('steady') ?? []).slice(20).toSorted((a, b) => a - b);
      expect(waits[Math.floor(waits.length / 2)]).toBe(0);
      // The table is asked and written in one way there and back each.
      expect(waits[Math.floor(0.99 * waits.length)]).toBeLessThanOrEqual(30);
    },
  );
});
