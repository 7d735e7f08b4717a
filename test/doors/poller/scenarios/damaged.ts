/** Scripts about items of the table that cannot be read, because a newer version has written them or a hand has changed them. */

import { expect } from 'vitest';
import { idOf } from '../rows.ts';
import { type Scenario, type Stage, THREE_STATES, threeStates } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const OTHER_DISCOVERED = `Project Discovered: ${OTHER}`;
const RUN_TO_END = ['1: running', '1: running -> finished'];

/** Puts these attributes into each item whose sort key begins like this. */
export function damage({ table }: Stage, sortKey: string, set: Record<string, never> | object): number {
  const damaged = table.sync.items().filter(({ sk }) => sk.startsWith(sortKey));
  for (const { pk, sk } of damaged) table.sync.update({ key: { pk, sk }, set: { ...set }, remove: [] });
  return damaged.length;
}

/** Lists the scripts of this file. */
export const DAMAGED: readonly Scenario[] = [
  ...(
    [
      ['entries', 'of a newer version'],
      ['revision', -1.5],
      ['status', null],
      ['failures_count', 'many'],
    ] as const
  ).map(
    ([name, value]): Scenario => ({
      name: `an operation whose item has an unreadable ${name} is left alone, and everything else goes on`,
      async script(stage) {
        stage.service.addProject(OTHER);
        stage.begin(1);
        stage.begin(2);
        await stage.runS(60);
        expect(damage(stage, `OP#${idOf(1)}`, { [name]: value })).toBe(1);
        stage.change(1, { status: 'finished' });
        stage.change(2, { status: 'finished' });
        stage.begin(3, { status: 'finished', project_id: OTHER });
        await stage.runS(150);
      },
      tells: ['1: running', '2: running', '2: running -> finished', '3: finished', OTHER_DISCOVERED],
      exceptFor: [1],
      also: ({ table }) =>
        expect(table.sync.items().find(({ sk }) => sk === `OP#${idOf(1)}`)?.[name]).toBe(value),
      crashes: false, // The process that dies may record the operation after its item was damaged.
    }),
  ),
  {
    name: 'an operation whose item lacks an entry that the bus has not taken is left alone, because its chain would have a gap',
    async script(stage) {
      stage.begin(1);
      await stage.runS(30);
      damage(stage, `OP#${idOf(1)}`, { entries: [], published: 0 });
      stage.change(1, { status: 'finished' });
      await stage.runS(90);
    },
    tells: ['1: running'],
    exceptFor: [1],
    also: ({ measured }) => expect(measured.get('ItemsUnreadable')?.length).toBeGreaterThan(0),
    crashes: false, // The process that dies may record the operation after its item was damaged.
  },
  {
    name: 'a project whose item cannot be read is polled all the same, and holds up no other',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      for (const { pk, sk } of stage.table.sync.items())
        if (sk === 'PROJECT' && pk.endsWith(OTHER))
          stage.table.sync.update({ key: { pk, sk }, set: { revision: 'of a newer version' }, remove: [] });
      threeStates(stage);
      await stage.runS(120);
      stage.restart();
      stage.begin(2, { status: 'finished' });
      await stage.runS(120);
    },
    tells: [...THREE_STATES, '2: finished', OTHER_DISCOVERED],
    crashes: false, // A process that dies may see less of the three states.
  },
  {
    name: 'an account whose item cannot be read takes nothing for news until it can be read, and then loses nothing',
    async script(stage) {
      const boot_at = stage.table.sync.items().find(({ sk }) => sk === 'ACCOUNT')?.['boot_at'];
      damage(stage, 'ACCOUNT', { boot_at: -1 });
      stage.restart();
      stage.begin(1, { status: 'finished' }, 5);
      stage.service.addProject(OTHER);
      await stage.runS(120);
      expect(stage.events()).toEqual([]);
      damage(stage, 'ACCOUNT', { boot_at });
      await stage.runS(240);
    },
    tells: ['1: finished', OTHER_DISCOVERED],
  },
  {
    name: 'an item that cannot be read costs no write, however often its row is met',
    async script(stage) {
      stage.begin(1);
      await stage.runS(30);
      damage(stage, `OP#${idOf(1)}`, { entries: 'of a newer version' });
      await stage.runS(30);
      const before = stage.table.spent.base;
      await stage.runS(120);
      expect(stage.table.spent.base - before).toBeLessThanOrEqual(12);
    },
    tells: ['1: running'],
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'a parked event whose text is damaged holds up no other that is sent again, and is noted',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'refused', code: 'MalformedDetail' }));
      for (let number = 1; number <= 3; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(30);
      stage.dials.bus = () => undefined;
      const text = stage.table.sync.items().find(({ sk }) => sk.startsWith(`PARKED#OP#${idOf(1)}`))?.[
        'event'
      ];
      expect(damage(stage, `PARKED#OP#${idOf(1)}`, { event: (text as string).slice(0, 40) })).toBe(1);
      expect((await stage.ask('POST', '/bridge/v1/redrive')).status).toBe(202);
      await stage.runS(120);
      const { body } = await stage.ask('GET', '/bridge/v1/replay');
      expect(body).toMatchObject({ state: 'ended', sent_count: 2 });
    },
    tells: ['2: finished', '3: finished'],
    exceptFor: [1],
    also: ({ measured }) => expect(measured.get('ItemsUnreadable')?.length).toBeGreaterThan(0),
    crashes: false, // The process that dies may park the events after one was damaged.
  },
  {
    name: 'an item that can be read again is told from where it stood',
    async script(stage) {
      stage.begin(1);
      await stage.runS(30);
      const key = stage.table.sync.items().find(({ sk }) => sk === `OP#${idOf(1)}`);
      const status = key?.['status'] ?? null;
      damage(stage, `OP#${idOf(1)}`, { status: null });
      stage.change(1, { status: 'finished' });
      await stage.runS(60);
      damage(stage, `OP#${idOf(1)}`, { status });
      await stage.runS(120);
    },
    tells: RUN_TO_END,
    crashes: false, // The process that dies may record the operation after its item was damaged.
  },
];
