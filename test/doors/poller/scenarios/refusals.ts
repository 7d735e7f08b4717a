/** Scripts about a table, a bus and a secret that refuse, are slow or lose an answer, and about clocks that are wrong. */

import { expect } from 'vitest';
import { itemBytes } from '../../../simulation/memory-table.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../bridge.ts';
import { idOf } from '../rows.ts';
import { type Scenario, type Stage, THREE_STATES, threeStates } from './scenario.ts';

const LAST_STATE = ['1: finished'];

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}

/** Counts the copies that the bus has accepted of the events of operations. */
function copyCount({ copies }: Stage): number {
  return copies().filter(({ type }) => type === 'Operation State Changed').length;
}

const THROTTLED = named('ThrottlingException');
const THROUGHPUT = named('ProvisionedThroughputExceededException');
const TIMED_OUT = named('TimeoutError');

/** Every second write of an operation is made, and its answer is lost. */
async function loseReplies(stage: Stage): Promise<void> {
  let count = 0;
  stage.dials.table = (name, key) =>
    name === 'update' && key?.sk.startsWith('OP#') === true && count++ % 2 === 0
      ? { error: TIMED_OUT, lost: true }
      : undefined;
  threeStates(stage);
  await stage.runS(120);
}

export const REFUSALS: readonly Scenario[] = [
  {
    name: 'events that the bus throttles are told once it takes them, in the order of their chain',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      threeStates(stage);
      await stage.runS(60);
      stage.dials.bus = () => undefined;
      await stage.runS(90);
    },
    tells: THREE_STATES,
  },
  {
    name: 'of a call of which the bus takes half, the other half is told later, and nothing twice',
    async script(stage) {
      let count = 0;
      stage.dials.bus = (events) =>
        events.map(() =>
          count++ % 2 === 0 ? { kind: 'retry', code: 'InternalFailure' } : { kind: 'accepted' },
        );
      for (let number = 1; number <= 8; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(120);
    },
    tells: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `${number}: finished`),
    also: (stage) => expect(copyCount(stage)).toBe(8),
  },
  {
    name: 'a bus that takes everything and loses its answers gets copies that are equal',
    async script(stage) {
      const { dials } = stage;
      const accepted: string[] = [];
      let isLost = true;
      dials.bus = (events) => {
        if (!isLost) return undefined;
        accepted.push(...events.map(({ detail }) => detail));
        return events.map(() => ({ kind: 'retry', code: 'TimeoutError' }));
      };
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      isLost = false;
      await stage.runS(90);
      const told = stage.copies().map(({ text }) => text);
      expect(told).toEqual(expect.arrayContaining(accepted.filter((text) => text.includes(idOf(1)))));
    },
    tells: LAST_STATE,
  },
  {
    name: 'an event that the bus refuses for good is parked, logged, and holds up no other',
    async script(stage) {
      stage.dials.bus = (events) =>
        events.map(({ detail }) =>
          detail.includes(idOf(1)) && detail.includes('"sequence":1,')
            ? { kind: 'refused', code: 'MalformedDetail' }
            : { kind: 'accepted' },
        );
      stage.begin(1);
      stage.begin(2);
      stage.change(1, { status: 'finished' }, 20);
      await stage.runS(60);
    },
    tells: ['1: running -> finished', '2: running'],
    exceptFor: [1],
    also: ({ table, logs }) => {
      const parked = table.sync.items().filter(({ kind }) => kind === 'parked');
      expect(parked).toMatchObject([{ code: 'MalformedDetail' }]);
      expect(logs.some(({ level, event }) => level === 'error' && event.includes('parked'))).toBe(true);
    },
    crashes: false,
  },
  {
    name: 'an operation that fails again and again while the bus takes nothing keeps its chain without a gap',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      stage.begin(1);
      for (let failure = 1; failure <= 60; failure++) {
        stage.change(1, { status: 'failed', failures_count: failure }, failure * 20);
        stage.change(1, { status: 'running', failures_count: failure }, failure * 20 + 10);
      }
      await stage.runS(1_300);
      stage.dials.bus = () => undefined;
      stage.change(1, { status: 'finished' });
      await stage.runS(180);
    },
    also: ({ events, table }) => {
      expect(events().length).toBeGreaterThan(40);
      expect(events().at(-1)?.detail).toMatchObject({ status: 'finished', failures_count: 60 });
      expect(Math.max(...table.sync.items().map(itemBytes))).toBeLessThan(400 * 1_024);
    },
    crashes: false,
  },
  ...(['get', 'getMany', 'update', 'queryWork', 'queryWorkPage'] as const).map(
    (call): Scenario => ({
      name: `a table that throttles each ${call} for half a minute loses nothing`,
      async script(stage) {
        stage.dials.table = (name) => (name === call ? { error: THROUGHPUT } : undefined);
        stage.begin(1, { status: 'finished' });
        await stage.runS(30);
        stage.dials.table = () => undefined;
        await stage.runS(90);
      },
      tells: LAST_STATE,
    }),
  ),
  {
    name: 'a table that refuses everything for five minutes loses nothing, and the invocations end',
    async script(stage) {
      stage.dials.table = () => ({ error: THROTTLED });
      stage.begin(1, { status: 'finished' });
      await stage.runS(300);
      stage.dials.table = () => undefined;
      await stage.runS(120);
    },
    tells: LAST_STATE,
  },
  {
    name: 'writes whose answers are lost are taken for what they are, and nothing is told twice',
    script: loseReplies,
    tells: THREE_STATES,
    also: ({ events }) => expect(events()).toHaveLength(3),
  },
  {
    name: 'a write whose answer is lost is counted, although the upstream does not say what is true now',
    async script(stage) {
      stage.service.dials.answers = ({ path }) =>
        /\/operations\/./.test(path) ? { status: 500 } : undefined;
      await loseReplies(stage);
    },
    tells: THREE_STATES,
    also: ({ measured }) => expect(measured.get('TransitionsRecorded')).toHaveLength(3),
    crashes: false, // A process that dies loses what it has not written of its metrics.
  },
  {
    name: 'a table that refuses one project for ever stops no other project',
    async script(stage) {
      const { service } = stage;
      service.addProject('other-pond-12345678');
      await stage.runS(60);
      stage.dials.table = (_, key) =>
        key?.pk.endsWith('quiet-pond-12345678') === true ? { error: THROUGHPUT } : undefined;
      stage.begin(1, { status: 'finished' });
      stage.begin(2, { status: 'finished', project_id: 'other-pond-12345678' });
      await stage.runS(180);
    },
    tells: ['2: finished', 'Project Discovered: other-pond-12345678'],
    exceptFor: [1],
    crashes: false,
  },
  ...[-HOUR_MS, -MINUTE_MS, 90 * SECOND_MS, 10 * MINUTE_MS].map(
    (offsetMs): Scenario => ({
      name: `a process whose clock is ${offsetMs / SECOND_MS} seconds off tells the truth`,
      async script(stage) {
        stage.dials.clockOffsetMs = offsetMs;
        stage.restart();
        await stage.runS(60);
        threeStates(stage);
        await stage.runS(90);
      },
      tells: THREE_STATES,
      crashes: false,
    }),
  ),
  ...[-HOUR_MS, -MINUTE_MS, 90 * SECOND_MS, HOUR_MS].map(
    (offsetMs): Scenario => ({
      name: `an upstream whose clock is ${offsetMs / SECOND_MS} seconds off is told truly`,
      async script(stage) {
        stage.service.dials.dateOffsetMs = offsetMs;
        threeStates(stage);
        await stage.runS(90);
      },
      tells: THREE_STATES,
      crashes: false,
    }),
  ),
  {
    name: 'a process that ends and one that begins tell each state once between them',
    async script(stage) {
      threeStates(stage);
      await stage.runS(15);
      stage.restart();
      await stage.runS(120);
    },
    tells: THREE_STATES,
    also: (stage) => expect(copyCount(stage)).toBe(3),
  },
];
