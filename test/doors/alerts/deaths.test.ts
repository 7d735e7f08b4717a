/** Ends the notifier's process after each call of a port in turn: nothing is lost, and on each channel at most one message comes twice. */

import { describe, expect, test } from 'vitest';
import { faultsOf } from './checks.ts';
import { play } from './play.ts';
import { at, fails, finishes, moves, operation, type Script, stalls } from './script.ts';
import { START_MS, type World } from './world.ts';

/** After this time everything that the queue hands out again has been told. */
const UNTIL = '7:10';

/** The process dies within the first minutes. Later calls repeat what the earlier ones did. */
const DEATH_BEFORE_MS = 70_000;

const one = operation('op-1');

const ENDS_WITH_MOVE = 'moved';

/** The failures were told before the move. One that the queue hands out again after it would begin another incident. */
const MOVE_MS = 45_000;

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
  {
    name: ENDS_WITH_MOVE,
    says: 'A project moves while two of its operations fail, and no page of them stays open.',
    policy: { gather_seconds: 0, patience_seconds: 0 },
    // The move is no event of an operation, and is told of each, too.
    copiesMax: 2,
    steps: [
      ...at('0:00', fails(one, 3), fails(operation('op-2', { action: 'create_branch' }), 3)),
      ...at('0:45', moves('shop', 'other')),
    ],
    until: '8:40',
  },
];

/** Returns how many calls the notifier makes before the time up to which it may die. */
async function callsOf(script: Script, fromMs: number): Promise<number> {
  let calls = 0;
  await play(script, 'bot', (world: World) => {
    const { clock } = world;
    const startMs = clock.now();
    world.dieAt({
      when: 'before',
      isAt: () => {
        const elapsedMs = clock.now() - startMs;
        if (elapsedMs >= fromMs && elapsedMs < DEATH_BEFORE_MS) calls += 1;
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
      const fromMs = script.name === ENDS_WITH_MOVE ? MOVE_MS : 0;
      const calls = await callsOf(script, fromMs);
      const faults: string[] = [];
      for (let nth = 1; nth <= calls; nth++) {
        let count = 0;
        const world = await play(script, 'bot', (before) =>
          before.dieAt({
            when: 'after',
            isAt: () => {
              if (before.clock.now() >= START_MS + fromMs) count += 1;
              return count === nth;
            },
          }),
        );
        // What a dead process had in hand comes back to the queue after more than a minute.
        const found = faultsOf({ ...script, late: 'The process dies.' }, world);
        if (script.name === ENDS_WITH_MOVE)
          faults.push(...leftBehind(world).map((fault) => `after call ${nth}: ${fault}`));
        const left = world.queue.length + world.deadLetters.length;
        faults.push(...found.map((fault) => `after call ${nth}: ${fault}`));
        if (world.deathCount() !== 1 || left > 0)
          faults.push(`after call ${nth}: ${world.deathCount()} deaths, ${left} records left in the queue`);
      }

      expect(calls).toBeGreaterThan(script.name === ENDS_WITH_MOVE ? 20 : 100);
      expect(faults).toEqual([]);
    },
  );
});

/** Both operations are ended on every channel. */
function leftBehind({ channels }: World): readonly string[] {
  const pages = channels.pagerDuty.openAlerts().map(({ key }) => `the page ${key} stays open`);
  const mails = channels.sends.filter((send) => send.channel === 'email' && send.isTaken);
  const said = JSON.stringify(mails.slice(1));
  const unsaid = ['op-1', 'op-2'].filter((id) => !said.includes(id) || !said.includes('the account other'));
  return [...pages, ...unsaid.map((id) => `no mail says that ${id} goes on elsewhere`)];
}
