/** Ends the notifier's process after each call of a port in turn: nothing is lost, and on each channel at most one message comes twice. */

import { describe, expect, test } from 'vitest';
import { faultsOf } from './checks.ts';
import { play } from './play.ts';
import { at, fails, finishes, operation, type Script, stalls } from './script.ts';
import type { World } from './world.ts';

/** After this time everything that the queue hands out again has been told. */
const UNTIL = '7:10';

/** The process dies within the first minutes. Later calls repeat what the earlier ones did. */
const DEATH_BEFORE_MS = 70_000;

const one = operation('op-1');

const stories: readonly Script[] = [
  {
    name: 'two-incidents',
    says: 'Two incidents are told in one batch, and one of them ends.',
    policy: { gather_seconds: 0, patience_seconds: 0 },
    copiesMax: 1,
    steps: [
      ...at('0:00', fails(one, 3), stalls(operation('op-2', { project: 'till' }), 6)),
      ...at('0:45', finishes(one)),
    ],
    until: UNTIL,
  },
  {
    name: 'healed-and-gathered',
    says: 'One failure heals before it is told, and an alert of another incident waits behind a message.',
    policy: { gather_seconds: 120, patience_seconds: 30 },
    copiesMax: 1,
    steps: [
      ...at('0:00', fails(one), stalls(operation('op-2', { project: 'till' }), 6)),
      ...at('0:20', finishes(one), stalls(operation('op-3', { project: 'bench' }), 6)),
    ],
    until: UNTIL,
  },
];

/** Returns how many calls the notifier makes before the time up to which it may die. */
async function callsOf(script: Script): Promise<number> {
  let calls = 0;
  await play(script, 'bot', (world: World) => {
    const { clock } = world;
    const endMs = clock.now() + DEATH_BEFORE_MS;
    world.dieAt({
      when: 'before',
      isAt: () => {
        if (clock.now() < endMs) calls += 1;
        return false;
      },
    });
  });
  return calls;
}

describe('a process that ends after any of its calls', () => {
  test.each(stories)(
    'loses nothing, and repeats one message of a channel at most: $says',
    { timeout: 240_000 },
    async (script) => {
      const calls = await callsOf(script);
      const faults: string[] = [];
      for (let nth = 1; nth <= calls; nth++) {
        let count = 0;
        const world = await play(script, 'bot', (before) =>
          before.dieAt({
            when: 'after',
            isAt: () => {
              count += 1;
              return count === nth;
            },
          }),
        );
        // What a dead process had in hand comes back to the queue after more than a minute.
        const found = faultsOf({ ...script, late: 'The process dies.' }, world);
        const left = world.queue.length + world.deadLetters.length;
        faults.push(...found.map((fault) => `after call ${nth}: ${fault}`));
        if (world.deathCount() !== 1 || left > 0)
          faults.push(`after call ${nth}: ${world.deathCount()} deaths, ${left} records left in the queue`);
      }

      expect(calls).toBeGreaterThan(100);
      expect(faults).toEqual([]);
    },
  );
});
