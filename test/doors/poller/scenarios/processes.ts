/** Scripts about the processes of the poller: two at once, frozen ones, cold starts, slow ports, and damaged items of the table. */

import { expect } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../bridge.ts';
import type { Published } from '../promises.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from '../rows.ts';
import type { Scenario, Stage } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const OTHER_DISCOVERED = `Project Discovered: ${OTHER}`;
const THREE_STATES = ['1: scheduling', '1: scheduling -> running', '1: running -> finished'];
const RUN_TO_END = ['1: running', '1: running -> finished'];

function threeStates({ begin, change }: Stage): void {
  begin(1, { status: 'scheduling' });
  change(1, { status: 'running' }, 11);
  change(1, { status: 'finished' }, 23);
}

/** Freezes the process that then runs, in the middle of its work, for so many seconds. */
function freezeAt(stage: Stage, afterS: number, forS: number, stopped?: 'monotonic' | 'machine'): void {
  stage.at(afterS * SECOND_MS, () => stage.at(forS * SECOND_MS, stage.freeze(stopped)));
}

function refusal(name: string): { readonly error: Error } {
  return { error: Object.assign(new Error(name), { name }) };
}

/** No minute has more requests to the upstream than this. */
function expectRate({ service }: Stage, most: number): void {
  const times = service.sent.map(({ atMs }) => atMs);
  for (const from of times)
    expect(times.filter((atMs) => atMs >= from && atMs < from + MINUTE_MS).length).toBeLessThanOrEqual(most);
}

/** Returns the mean time from a change to its event. */
function meanDelayMs(events: readonly Published[]): number {
  const delaysMs = events.map(({ detail }) => {
    const timeIn = (field: string) => Date.parse(String(detail[field]));
    return timeIn('observed_at') - timeIn('operation_updated_at');
  });
  return delaysMs.reduce((sum, each) => sum + each, 0) / delaysMs.length;
}

const MANY = Array.from({ length: 30 }, (_, place) => `pond-${place + 10}-12345678`);
const DISCOVERED = MANY.map((projectId) => `Project Discovered: ${projectId}`);

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

/** Puts these attributes into each item whose sort key begins like this. */
function damage({ table }: Stage, sortKey: string, set: Record<string, never> | object): number {
  const damaged = table.sync.items().filter(({ sk }) => sk.startsWith(sortKey));
  for (const { pk, sk } of damaged) table.sync.update({ key: { pk, sk }, set: { ...set }, remove: [] });
  return damaged.length;
}

const DAMAGED: readonly Scenario[] = [
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

const REQUESTS: readonly Scenario[] = [
  {
    name: 'thirty projects without any news are all read again and again, at the rate that is allowed',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      const fromMs = stage.nowMs();
      await stage.runS(120);
      for (const projectId of MANY) {
        const readings = stage.service.sent.filter(
          ({ atMs, path }) => atMs >= fromMs && path === `/projects/${projectId}/operations`,
        );
        expect(readings.length).toBeGreaterThanOrEqual(2);
      }
      expectRate(stage, 160);
    },
    tells: DISCOVERED,
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'a project that is busy is read more often than one that is not',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      for (let number = 1; number <= 60; number++) {
        stage.begin(number, { project_id: 'pond-10-12345678' }, number * 10);
        stage.change(number, { status: 'finished' }, number * 10 + 5);
      }
      await stage.runS(620);
      const readings = (projectId: string) => stage.requests(new RegExp(`${projectId}/operations$`));
      expect(readings('pond-10-12345678')).toBeGreaterThan(2 * readings('pond-20-12345678'));
    },
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'an operation in one of thirty quiet projects is told within half a minute',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(240);
      stage.begin(1, { status: 'finished', project_id: 'pond-27-12345678' });
      await stage.runS(30);
      expect(stage.events('Operation State Changed')).toHaveLength(1);
    },
    tells: ['1: finished', ...DISCOVERED],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'refusals for the rate make the poller slower, and it never sends more than before them',
    options: { settings: { requests_per_minute: 300, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      const sentIn = async (seconds: number) => {
        const before = stage.service.sent.length;
        await stage.runS(seconds);
        return stage.service.sent.length - before;
      };
      const usual = await sentIn(60);
      let count = 0;
      stage.service.dials.answers = () =>
        count++ % 2 === 0 ? { status: 429, headers: { 'retry-after': '2' } } : undefined;
      const refused = await sentIn(60);
      expect(refused).toBeLessThan(usual * 0.8);
      stage.service.dials.answers = () => undefined;
      stage.begin(1, { status: 'finished' });
      await stage.runS(120);
    },
    tells: ['1: finished', ...DISCOVERED],
    crashes: false, // The figure is that of one process.
  },
  {
    name: 'a pause of five minutes that the upstream asks for is kept, and a longer one is not',
    async script(stage) {
      stage.service.dials.answers = () => ({ status: 429, headers: { 'retry-after': '3600' } });
      await stage.runS(10);
      stage.service.dials.answers = () => undefined;
      const before = stage.service.sent.length;
      await stage.runS(240);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(2);
      stage.begin(1, { status: 'finished' });
      await stage.runS(180);
    },
    also: ({ events }) => expect(events('Operation State Changed')).toHaveLength(1),
    crashes: false, // The pause is that of one process.
  },
  {
    name: 'a new project and its operations are told within a minute in an account of thirty',
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      await stage.runS(120);
      stage.service.addProject(OTHER);
      stage.service.put(
        anOperationRow(1, stage.nowMs(), { project_id: OTHER, action: 'apply_config', status: 'finished' }),
      );
      await stage.runS(60);
      expect(stage.events('Project Discovered').at(-1)?.detail['project_id']).toBe(OTHER);
    },
    tells: ['1: finished', OTHER_DISCOVERED, ...DISCOVERED],
    crashes: false, // A process that dies leaves a lease, which the next one waits for as long.
  },
  {
    name: 'a time of the project list that moves with the operations is a hint, also where every second list lacks it',
    options: { settings: { requests_per_minute: 60, command_requests_per_minute: 0 } },
    async script(stage) {
      for (const projectId of MANY) stage.service.addProject(projectId);
      const movedMs = new Map<string, number>();
      let listCount = 0;
      stage.service.dials.answers = ({ path }) => {
        if (path !== '/projects') return undefined;
        listCount += 1;
        const fieldsOf = (id: string) =>
          listCount % 2 === 0 ? {} : { updated_at: timeOf(movedMs.get(id) ?? 0) };
        const projects = [...MANY, PROJECT_ID].map((id) => ({ id, created_at: timeOf(0), ...fieldsOf(id) }));
        return { status: 200, body: { projects } };
      };
      await stage.runS(300);
      for (const [place, project_id] of MANY.slice(0, 12).entries())
        stage.at((place + 1) * 25 * SECOND_MS, () => {
          stage.begin(place + 1, { status: 'finished', project_id });
          movedMs.set(project_id, stage.nowMs());
        });
      await stage.runS(360);
    },
    tells: [...MANY.slice(0, 12).map((_, place) => `${place + 1}: finished`), ...DISCOVERED],
    also: ({ events }) => {
      // Without the hint it takes half a minute, because a round of all projects takes that long.
      expect(meanDelayMs(events('Operation State Changed'))).toBeLessThan(10 * SECOND_MS);
    },
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'a suspend is told within a second and a half on average, because the list of computes says when it can come',
    options: { settings: { requests_per_minute: 120, command_requests_per_minute: 0 } },
    async script(stage) {
      const projectIds = Array.from({ length: 100 }, (_, place) => `lake-${place + 100}-12345678`);
      for (const projectId of projectIds) stage.service.addProject(projectId);
      const usedMs = new Map<string, number>();
      stage.service.dials.answers = ({ path }) => {
        const [, , projectId = '', resource] = path.split('/');
        const lastMs = usedMs.get(projectId);
        if (resource !== 'endpoints' || lastMs === undefined) return undefined;
        const times = { suspend_timeout_seconds: 300, last_active: timeOf(lastMs) };
        return {
          status: 200,
          body: { endpoints: [{ id: `ep-${projectId}`, current_state: 'active', ...times }] },
        };
      };
      await stage.runS(180);
      for (const [place, project_id] of projectIds.slice(0, 15).entries()) {
        const compute = { project_id, endpoint_id: `ep-${project_id}`, status: 'finished' };
        const beginsS = 10 + place * 40;
        stage.begin(2 * place + 1, { ...compute, action: 'start_compute' }, beginsS);
        // The compute is used for some time, and is suspended five minutes later.
        const lastS = beginsS + 60 + ((place * 137) % 400);
        for (let second = beginsS; second <= lastS; second += 20)
          stage.at(second * SECOND_MS, () => void usedMs.set(project_id, stage.nowMs()));
        stage.at((lastS + 300) * SECOND_MS, () => void usedMs.delete(project_id));
        stage.begin(2 * place + 2, { ...compute, action: 'suspend_compute' }, lastS + 300);
      }
      await stage.runS(1_440);
    },
    also: ({ events }) => {
      const suspends = events('Operation State Changed').filter(
        ({ detail }) => detail['action'] === 'suspend_compute',
      );
      expect(suspends).toHaveLength(15);
      // Without the lists it takes twice as long.
      expect(meanDelayMs(suspends)).toBeLessThan(1.4 * SECOND_MS);
    },
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
];

export const PROCESSES: readonly Scenario[] = [...AT_ONCE, ...BEGINNINGS, ...SLOW, ...DAMAGED, ...REQUESTS];
