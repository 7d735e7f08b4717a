/** Scripts about the processes of the poller: two at once, frozen ones, cold starts and slow ports. */

import { expect } from 'vitest';
import { SECOND_MS } from '../bridge.ts';
import { PROJECT_ID } from '../rows.ts';
import { damage } from './damaged.ts';
import { DISCOVERED, expectRate, MANY } from './requests.ts';
import { type Scenario, type Stage, THREE_STATES, threeStates } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const OTHER_DISCOVERED = `Project Discovered: ${OTHER}`;
const RUN_TO_END = ['1: running', '1: running -> finished'];

/** Freezes the process that then runs, in the middle of its work, for so many seconds. */
function freezeAt(stage: Stage, afterS: number, forS: number, stopped?: 'monotonic' | 'machine'): void {
  stage.at(afterS * SECOND_MS, () => stage.at(forS * SECOND_MS, stage.freeze(stopped)));
}

function refusal(name: string): { readonly error: Error } {
  return { error: Object.assign(new Error(name), { name }) };
}

const AT_ONCE: readonly Scenario[] = [
  {
    name: 'a process that is invoked beside another one tells nothing twice',
    async script(stage) {
      threeStates(stage);
      stage.at(5_000, () => stage.invokeAnother(40_000));
      stage.at(12_000, () => stage.invokeAnother(40_000));
      await stage.runS(120);
    },
    tells: THREE_STATES,
    also: ({ copies }) => expect(copies().filter(({ type }) => type.startsWith('Operation'))).toHaveLength(3),
    crashes: false, // A process that dies before its acknowledgement publishes the event twice.
  },
  {
    name: 'processes that are invoked at once keep to the rate limit together',
    options: { settings: { requests_per_minute: 30, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      for (let second = 10; second < 200; second += 30)
        stage.at(second * SECOND_MS, () => stage.invokeAnother(45_000));
      await stage.runS(240);
    },
    tells: DISCOVERED,
    also: (stage) => expectRate(stage, 36),
  },
  {
    name: 'processes that begin anew every minute keep to the rate limit together, and each goes on at the rate of the one before',
    options: { settings: { requests_per_minute: 30, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(60);
      const before = stage.service.sent.length;
      for (let turn = 0; turn < 5; turn++) {
        stage.restart();
        await stage.runS(60);
      }
      expect(stage.service.sent.length - before).toBeGreaterThanOrEqual(0.8 * 5 * 30);
      await stage.runS(60);
    },
    tells: DISCOVERED,
    also: (stage) => expectRate(stage, 36),
    crashes: false, // The figure is that of processes which hand over what they have spent.
  },
  {
    name: 'the invocations of a process use the rate as one long invocation would, also beside callers who may send commands',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 15 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      const before = stage.service.sent.length;
      await stage.runS(300);
      expect(stage.service.sent.length - before).toBeGreaterThanOrEqual(0.8 * 5 * 60);
    },
    tells: DISCOVERED,
    also: (stage) => expectRate(stage, 75),
    crashes: false, // The figure is that of a process which hands over what it has spent.
  },
  ...[20, 90, 600].map(
    (seconds): Scenario => ({
      name: `a process that is frozen for ${seconds} seconds and goes on beside its successor tells nothing wrong`,
      async script(stage) {
        stage.begin(1);
        freezeAt(stage, 7, seconds);
        stage.change(1, { status: 'failed', failures_count: 1 }, 12);
        stage.change(1, { status: 'running' }, 7 + seconds / 2);
        await stage.runS(seconds + 37);
        stage.change(1, { status: 'finished' });
        await stage.runS(150);
      },
      also: ({ events }) => {
        const states = events('Operation State Changed').map(({ detail }) => detail.status);
        expect([states[0], states.at(-1)]).toEqual(['running', 'finished']);
        expect(events('Operation State Changed').at(-1)?.detail['failures_count']).toBe(1);
      },
    }),
  ),
  {
    name: 'a process that was frozen while its account failed tells nothing of health that is over',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 500 });
      freezeAt(stage, 150, 240);
      stage.at(150_000, () => {
        stage.service.dials.answers = () => undefined;
      });
      await stage.runS(390);
      stage.begin(1, { status: 'finished' });
      await stage.runS(240);
    },
    tells: ['1: finished'],
  },
  ...([undefined, 'monotonic', 'machine'] as const).map(
    (stopped): Scenario => ({
      name: `a frozen process that goes on sends no request any more, whichever of its clocks stood still (${stopped ?? 'none'})`,
      options: { settings: { requests_per_minute: 20, command_requests_per_minute: 0 } },
      async script(stage) {
        // The walk waits for the permit of its next page.
        stage.service.dials.pageRowsMax = 2;
        for (let number = 1; number <= 40; number++) stage.begin(number, { status: 'finished' });
        freezeAt(stage, 20, 200, stopped);
        await stage.runS(240);
        expect(stage.sentAfterThaw()).toBe(0);
      },
      tells: Array.from({ length: 40 }, (_, place) => `${place + 1}: finished`),
      crashes: false, // A process that dies leaves a lease, and the pages take their minutes.
    }),
  ),
];

const BEGINNINGS: readonly Scenario[] = [
  {
    name: 'a process that begins while no list can be read goes on with what the one before it has left open',
    async script(stage) {
      stage.begin(1);
      await stage.runS(30);
      stage.restart();
      stage.service.dials.answers = ({ path }) => (path === '/projects' ? { status: 500 } : undefined);
      stage.change(1, { status: 'finished' }, 60);
      await stage.runS(180);
    },
    tells: RUN_TO_END,
  },
  {
    name: 'a process that begins publishes what the one before it has recorded, although nothing of the upstream answers',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      for (let number = 1; number <= 25; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      stage.restart();
      stage.dials.bus = () => undefined;
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.runS(120);
    },
    tells: Array.from({ length: 25 }, (_, place) => `${place + 1}: finished`),
    crashes: false, // A process that dies may not have recorded what no later one can read.
  },
  {
    name: 'what an earlier process has left unpublished is told oldest first',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      for (let number = 1; number <= 30; number++) stage.begin(number, { status: 'finished' }, number);
      await stage.runS(60);
      stage.restart();
      stage.dials.bus = () => undefined;
      await stage.runS(90);
      const order = stage.events().map(({ detail }) => Number(detail.operation_id?.slice(-12)));
      expect(order.slice(0, 10).every((number) => number <= 20)).toBe(true);
    },
    tells: Array.from({ length: 30 }, (_, place) => `${place + 1}: finished`),
    crashes: false, // The order is that of one relay.
  },
  {
    name: 'a process keeps to the pause that the upstream asked of the one before it',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 0 } },
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 429, headers: { 'retry-after': '120' } });
      await stage.runS(20);
      stage.restart();
      stage.service.dials.answers = () => undefined;
      const before = stage.service.sent.length;
      await stage.runS(60);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(45);
      stage.begin(1, { status: 'finished' });
      await stage.runS(180);
    },
    tells: ['1: finished'],
    crashes: false, // The figure is that of two processes.
  },
  {
    name: 'a process whose lease cannot be released is followed by the next one within a minute and a half',
    async script(stage) {
      stage.dials.table = (call, key) =>
        call === 'update' && key?.sk === 'LEASE' ? refusal('TimeoutError') : undefined;
      await stage.runS(60);
      stage.dials.table = () => undefined;
      stage.restart();
      threeStates(stage);
      await stage.runS(150);
    },
    also: ({ events }) => expect(events().at(-1)?.detail.status).toBe('finished'),
  },
  {
    name: 'a process that begins with an unreadable status goes to work all the same',
    async script(stage) {
      threeStates(stage);
      await stage.runS(15);
      damage(stage, 'STATUS', { written_at: 'of a newer version' });
      stage.restart();
      await stage.runS(150);
    },
    also: ({ events }) => expect(events().at(-1)?.detail.status).toBe('finished'),
  },
];

const SLOW: readonly Scenario[] = [
  ...[1_000, 4_000].map(
    (oneWayMs): Scenario => ({
      name: `an upstream that takes ${2 * oneWayMs} ms for each answer is told truly`,
      async script(stage) {
        stage.dials.upstreamOneWayMs = oneWayMs;
        stage.begin(1);
        stage.change(1, { status: 'finished' }, 60);
        await stage.runS(180);
      },
      tells: RUN_TO_END,
    }),
  ),
  {
    name: 'answers that come after the time-out of their request cost a reading and no event',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      stage.dials.upstreamOneWayMs = 40_000;
      await stage.runS(120);
      stage.dials.upstreamOneWayMs = 60;
      stage.change(1, { status: 'finished' });
      await stage.runS(300);
    },
    tells: RUN_TO_END,
  },
  {
    name: 'rows that break off in the middle of each answer for a while are read when they are whole',
    async script(stage) {
      stage.begin(1);
      let count = 0;
      stage.service.dials.answers = ({ path }) =>
        path.endsWith('/operations') && count++ % 2 === 0
          ? { status: 200, body: '{"operations":[{"id":"00000000-0000-4000-8000-0000' }
          : undefined;
      stage.change(1, { status: 'finished' }, 30);
      await stage.runS(180);
    },
    tells: RUN_TO_END,
  },
  {
    name: 'every third call of the table that fails delays what is told and changes nothing of it',
    async script(stage) {
      let count = 0;
      stage.dials.table = () => (count++ % 3 === 2 ? refusal('InternalServerError') : undefined);
      stage.begin(1);
      stage.change(1, { status: 'failed', failures_count: 1 }, 40);
      stage.change(1, { status: 'finished' }, 90);
      await stage.runS(180);
      stage.dials.table = () => undefined;
      await stage.runS(90);
    },
    also: ({ events }) => {
      expect(events('Operation State Changed').at(-1)?.detail).toMatchObject({
        status: 'finished',
        failures_count: 1,
      });
    },
  },
  {
    name: 'every third call of the bus that fails delays what is told and loses nothing',
    async script(stage) {
      let count = 0;
      stage.dials.bus = (events) =>
        count++ % 3 === 0 ? events.map(() => ({ kind: 'retry', code: 'InternalFailure' })) : undefined;
      for (let number = 1; number <= 12; number++) stage.begin(number, {}, number * 3);
      await stage.runS(180);
    },
    tells: Array.from({ length: 12 }, (_, place) => `${place + 1}: running`),
  },
  {
    name: 'a bus that takes nothing of one project for ever tells everything of the others',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.dials.bus = (events) =>
        events.map(({ detail }) =>
          detail.includes(PROJECT_ID) ? { kind: 'retry', code: 'InternalFailure' } : { kind: 'accepted' },
        );
      for (let number = 1; number <= 60; number++)
        stage.begin(number, { status: 'finished', project_id: number > 50 ? OTHER : PROJECT_ID });
      await stage.runS(240);
    },
    tells: [...Array.from({ length: 10 }, (_, place) => `${place + 51}: finished`), OTHER_DISCOVERED],
    exceptFor: Array.from({ length: 50 }, (_, place) => place + 1),
    crashes: false, // What the bus does not take stays unpublished.
  },
  {
    name: 'what a poll is sending to a slow bus is not sent by the relay as well',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(60);
      stage.dials.busOneWayMs = 4_000;
      stage.dials.bus = (events) =>
        events.map(({ detail }) =>
          detail.includes(PROJECT_ID) ? { kind: 'accepted' } : { kind: 'retry', code: 'InternalFailure' },
        );
      stage.begin(1, { status: 'finished', project_id: OTHER });
      for (let number = 2; number <= 13; number++) stage.begin(number, { status: 'finished' }, 2.5 * number);
      await stage.runS(60);
    },
    tells: [...Array.from({ length: 12 }, (_, place) => `${place + 2}: finished`), OTHER_DISCOVERED],
    also: ({ copies }) =>
      expect(copies().filter(({ type }) => type === 'Operation State Changed')).toHaveLength(12),
    exceptFor: [1],
    crashes: false, // A process that dies before its acknowledgement publishes the event twice.
  },
  {
    name: 'a process that dies while it drains a backlog leaves at most forty events to be sent again',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      for (let number = 1; number <= 120; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(100);
      stage.dials.bus = () => {
        stage.dials.bus = () => undefined;
        stage.killAt({ call: 8, when: 'before' });
        return undefined;
      };
      await stage.runS(200);
      const copyCount = stage.copies().filter(({ type }) => type === 'Operation State Changed').length;
      expect(copyCount - 120).toBeGreaterThan(0);
      expect(copyCount - 120).toBeLessThanOrEqual(40);
    },
    tells: Array.from({ length: 120 }, (_, place) => `${place + 1}: finished`),
    crashes: false, // It has a death of its own.
  },
  {
    name: 'a bus that takes nothing for ten minutes has the whole backlog within a minute of its return',
    async script(stage) {
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      for (let number = 1; number <= 300; number++) stage.begin(number, { status: 'finished' }, number);
      await stage.runS(600);
      stage.dials.bus = () => undefined;
      await stage.runS(60);
    },
    tells: Array.from({ length: 300 }, (_, place) => `${place + 1}: finished`),
    crashes: false, // A process that dies leaves a lease, which the next one waits for as long.
  },
];

export const PROCESSES: readonly Scenario[] = [...AT_ONCE, ...BEGINNINGS, ...SLOW];
