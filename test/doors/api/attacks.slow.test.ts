/** One token that takes what it can get, beside a modest caller: no minute is above the limit, and the modest one is served. */

import { describe, expect, test } from 'vitest';
import { type CallerPlan, COMMANDS, MINUTE_MS, type Played, play } from './attacked-bridge.ts';

const FOR_A_DAY = { prefer: 'respond-async', 'bridge-deadline': '86400' };

const SEEDS = [1, 2];

/** Each run serves thousands of requests, which takes a busy machine longer than a usual test. */
const TEST_MS = 240_000;

/** The modest caller has projects of its own, and puts every other command in line. */
const modest: CallerPlan = {
  name: 'modest',
  perMinute: 10,
  next: (count, existing) => ({
    projectId: existing[count % 5] ?? '',
    ...(count % 2 === 0 && { headers: { prefer: 'respond-async' } }),
  }),
};

function expectServed(seed: number, { askedBy, doneBy, mostInAMinute, answers }: Played): void {
  const share = (doneBy.get('modest') ?? 0) / (askedBy.get('modest') ?? 1);
  expect([seed, share >= 0.95 ? 'enough' : { share, answers }]).toEqual([seed, 'enough']);
  expect(mostInAMinute).toBeLessThanOrEqual(COMMANDS);
}

describe('a token that fills the line with commands for a day', () => {
  /** Every other project of the attacker does not exist. */
  const attacker: CallerPlan = {
    name: 'greedy',
    perMinute: 1_200,
    next: (count, existing) => ({
      projectId: (count % 2 === 0 ? undefined : existing[5 + (count % 5)]) ?? `made-up-${10_000_000 + count}`,
      headers: FOR_A_DAY,
    }),
  };

  test.each([1, 5, 10, 30])(
    'leaves a modest caller what it asks for, on %i instances',
    async (instanceCount) => {
      for (const seed of SEEDS) {
        const played = await play({ seed, instanceCount, callers: [attacker, modest], minutes: 4 });
        expectServed(seed, played);
      }
    },
    TEST_MS,
  );
});

describe('a token that sends all it can while the table refuses the writes that count', () => {
  const attacker: CallerPlan = {
    name: 'greedy',
    perMinute: 1_200,
    next: (count, existing) => ({
      projectId: existing[5 + (count % 5)] ?? '',
      ...(count % 4 === 0 && { headers: FOR_A_DAY }),
    }),
  };
  const isRefused = (sinceMs: number) => sinceMs >= MINUTE_MS;

  test.each([1, 5, 10, 30])(
    'leaves a modest caller what it asks for, on %i instances',
    async (instanceCount) => {
      for (const seed of SEEDS) {
        const played = await play({
          seed,
          instanceCount,
          callers: [attacker, modest],
          minutes: 4,
          isRefused,
        });
        expectServed(seed, played);
      }
    },
    TEST_MS,
  );
});
