/** Scripts about what callers ask of the bridge's API while the poller runs: commands, fresh readings, repairs and replays. */

import { expect } from 'vitest';
import { DAY_MS, HOUR_MS } from '../bridge.ts';
import type { Published } from '../promises.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from '../rows.ts';
import type { Row } from '../service.ts';
import type { Scenario, Stage } from './scenario.ts';

const LIST = /^GET .*\/operations$/;
const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-quiet-pond-a1234567/restart`;
const PROJECT = `/bridge/v1/projects/${PROJECT_ID}`;
const REPAIR = `${PROJECT}/repair`;
const REPLAY = '/bridge/v1/replay';
const SETTLED = 'Command Settled';
const SEEN_BY_COMMAND = ['1: running (command)', '1: running -> finished'];
const RESTARTED = 'Command Settled: restartEndpoint';

/** The service answers a command with these operations, which it begins. */
function answerCommands(
  { service, nowMs }: Stage,
  numbers: readonly number[],
  fields: Partial<Row> = {},
): void {
  service.dials.answers = ({ method }) => {
    if (method === 'GET') return undefined;
    const operations = numbers.map((number) =>
      anOperationRow(number, nowMs(), { action: 'restart_compute', ...fields }),
    );
    for (const row of operations) service.put(row);
    return { status: 200, body: { endpoint: { id: 'ep-quiet-pond-a1234567' }, operations } };
  };
}

/** Sends the command and lets the bridge run for so many seconds. */
async function command(stage: Stage, seconds: number): Promise<void> {
  expect((await stage.ask('POST', RESTART)).status).toBe(200);
  await stage.runS(seconds);
}

/** Asks the API and lets the bridge run for so many seconds. */
async function asked(stage: Stage, seconds: number, ...request: Parameters<Stage['ask']>) {
  const answer = await stage.ask(...request);
  await stage.runS(seconds);
  return answer;
}

/** What the API has written for the poller appears in the table after so many seconds, in the middle of an invocation. */
function appearsLater({ table, at }: Stage, afterS: number): void {
  for (const { pk, sk, ...set } of table.sync.items().filter((item) => item.pk.startsWith('READ#'))) {
    table.sync.remove({ pk, sk });
    at(afterS * 1_000, () => void table.sync.update({ key: { pk, sk }, set, remove: [] }));
  }
}

const settledOf = ({ events }: Stage) => events(SETTLED).map(({ detail }) => detail);
const statesOf = (copies: readonly Published[]) =>
  copies.filter(({ type }) => type === 'Operation State Changed');

const COMMANDS: readonly Scenario[] = [
  {
    name: 'the operation of a command is told at once by the API, goes on with the poller, and settles the command',
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 5);
      expect(stage.events().map(({ detail }) => detail.status)).toEqual(['running']);
      stage.change(1, { status: 'finished' }, 20);
      await stage.runS(90);
    },
    tells: [...SEEN_BY_COMMAND, `${RESTARTED} succeeded`],
    also: (stage) => {
      expect(settledOf(stage)).toMatchObject([
        { operations: [{ operation_id: idOf(1), status: 'finished' }], missing: [] },
      ]);
      for (const { detail } of statesOf(stage.events()))
        expect(detail['command']).toMatchObject({ client_id: 'an-app' });
    },
    crashes: false, // A process that dies is noticed later than the five seconds in which the script looks.
  },
  {
    name: 'a command with several operations settles with the last of them',
    async script(stage) {
      answerCommands(stage, [1, 2, 3]);
      await command(stage, 5);
      stage.change(1, { status: 'finished' });
      stage.change(2, { status: 'skipped' }, 20);
      await stage.runS(60);
      expect(settledOf(stage)).toEqual([]);
      stage.change(3, { status: 'finished' });
      await stage.runS(60);
    },
    tells: [
      ...SEEN_BY_COMMAND,
      '2: running (command)',
      '2: running -> skipped',
      '3: running (command)',
      '3: running -> finished',
      `${RESTARTED} succeeded`,
    ],
  },
  ...['error', 'cancelled'].map(
    (status): Scenario => ({
      name: `a command whose operation ends as ${status} has failed`,
      async script(stage) {
        answerCommands(stage, [1]);
        await command(stage, 5);
        stage.change(1, { status, failures_count: 1 });
        await stage.runS(60);
      },
      tells: ['1: running (command)', `1: running -> ${status}, failures 1`, `${RESTARTED} failed`],
    }),
  ),
  {
    name: 'a command whose operation has failed waits for the retry before it settles',
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 5);
      stage.change(1, { status: 'failed', failures_count: 1 });
      await stage.runS(120);
      expect(settledOf(stage)).toEqual([]);
      stage.change(1, { status: 'finished' });
      await stage.runS(120);
    },
    tells: [
      '1: running (command)',
      '1: running -> failed, failures 1',
      '1: failed -> finished',
      `${RESTARTED} succeeded`,
    ],
  },
  {
    name: 'a command whose operation does not end within its deadline is incomplete, with what is missing',
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 5);
      await stage.rest(2 * HOUR_MS);
      await stage.runS(60);
      stage.change(1, { status: 'finished' });
      await stage.runS(60);
    },
    also: (stage) => expect(settledOf(stage)).toMatchObject([{ outcome: 'incomplete', missing: [idOf(1)] }]),
  },
  {
    name: 'a command of a project that cannot be read any more settles at its deadline',
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 5);
      stage.service.dials.answers = () => ({ status: 500 });
      await stage.rest(2 * HOUR_MS);
      await stage.runS(60);
      stage.service.dials.answers = () => undefined;
      stage.change(1, { status: 'finished' });
      await stage.runS(300);
    },
    also: (stage) => {
      expect(settledOf(stage)).toMatchObject([{ outcome: 'incomplete', missing: [idOf(1)] }]);
    },
  },
  {
    name: 'a command that starts no operation has come to its end, which is told at once and once',
    async script(stage) {
      answerCommands(stage, []);
      await command(stage, 60);
    },
    tells: [`${RESTARTED} succeeded`],
  },
  {
    name: 'a command that ends before any poll sees it is told with its operation',
    async script(stage) {
      answerCommands(stage, [1], { status: 'finished' });
      await command(stage, 60);
    },
    tells: ['1: finished (command)', `${RESTARTED} succeeded`],
  },
  {
    name: 'a command while nothing polls is settled by the process that begins later',
    async script(stage) {
      answerCommands(stage, [1]);
      const answer = await stage.ask('POST', RESTART);
      expect(answer.status).toBe(200);
      stage.change(1, { status: 'finished' });
      stage.restart();
      await stage.rest(10 * 60_000);
      await stage.runS(90);
    },
    tells: [...SEEN_BY_COMMAND, `${RESTARTED} succeeded`],
  },
  {
    name: 'a command that the upstream refuses begins nothing',
    async script(stage) {
      stage.service.dials.answers = ({ method }) =>
        method === 'GET' ? undefined : { status: 400, body: { code: '', message: 'no such compute' } };
      const answer = await stage.ask('POST', RESTART);
      expect(answer.status).toBe(400);
      await stage.runS(60);
    },
    tells: [],
  },
  {
    name: 'a command whose answer is older than what a poll has seen takes nothing back, and costs no other request',
    async script(stage) {
      stage.begin(1, { action: 'restart_compute', status: 'running' });
      const earlier = stage.service.rows()[0];
      stage.change(1, { status: 'finished' }, 20);
      await stage.runS(60);
      stage.service.dials.answers = ({ method }) =>
        method === 'GET' ? undefined : { status: 200, body: { endpoint: {}, operations: [earlier] } };
      await command(stage, 120);
    },
    tells: ['1: running', '1: running -> finished', `${RESTARTED} succeeded`],
    also: ({ requests }) => expect(requests(/\/operations\/.+/)).toBe(0),
  },
  {
    name: 'two commands at one time settle each with its own operation',
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 5);
      answerCommands(stage, [2]);
      await command(stage, 5);
      stage.change(2, { status: 'finished' });
      stage.change(1, { status: 'error', failures_count: 1 }, 20);
      await stage.runS(60);
    },
    also: (stage) =>
      expect(
        settledOf(stage).map(({ outcome, operations }) => [
          outcome,
          (operations as readonly { operation_id: string }[]).map(({ operation_id }) => operation_id),
        ]),
      ).toEqual([
        ['succeeded', [idOf(2)]],
        ['failed', [idOf(1)]],
      ]),
  },
  {
    name: 'a command makes its project hot, so its end is told within seconds where polls are half a minute apart',
    options: { settings: { poll_interval_seconds: 30 } },
    async script(stage) {
      answerCommands(stage, [1]);
      await command(stage, 4);
      stage.change(1, { status: 'finished' });
      await stage.runS(45);
    },
    tells: [...SEEN_BY_COMMAND, `${RESTARTED} succeeded`],
  },
];

/** A round through so many projects takes more than two minutes at this rate. */
const MANY_AND_SLOW = { settings: { requests_per_minute: 90, command_requests_per_minute: 0 } };
function addMany({ service }: Stage): void {
  for (let place = 100; place < 300; place++) service.addProject(`pond-${place}-12345678`);
}

const READINGS: readonly Scenario[] = [
  {
    name: 'a caller who asks for a fresh reading has it within seconds, also where a round takes minutes',
    options: MANY_AND_SLOW,
    isFirstSight: true,
    async script(stage) {
      addMany(stage);
      await stage.runS(240);
      stage.begin(1, { status: 'finished' });
      expect((await stage.ask('POST', `${PROJECT}/read`)).status).toBe(202);
      appearsLater(stage, 10);
      stage.at(10_100, stage.nudge);
      await stage.runS(40);
      expect(stage.events()).toHaveLength(1);
    },
    tells: ['1: finished'],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'a wish whose nudge is lost is fulfilled by the next invocation',
    options: MANY_AND_SLOW,
    isFirstSight: true,
    async script(stage) {
      addMany(stage);
      await stage.runS(240);
      stage.begin(1, { status: 'finished' });
      expect((await stage.ask('POST', `${PROJECT}/read`)).status).toBe(202);
      appearsLater(stage, 10);
      await stage.runS(100);
      expect(stage.events()).toHaveLength(1);
    },
    tells: ['1: finished'],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'a hundred nudges without any work cost hardly a request',
    async script(stage) {
      for (let second = 0; second < 100; second++) stage.at(second * 500, stage.nudge);
      const before = stage.service.sent.length;
      await stage.runS(60);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(60);
    },
    tells: [],
    crashes: false, // The figure is that of one process.
  },
];

const REPAIRS: readonly Scenario[] = [
  {
    name: 'a repair records an operation that the table has lost, as an event of its own',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      stage.begin(2, { status: 'finished' });
      await stage.runS(60);
      for (const item of stage.table.sync.items())
        if (item.sk === `OP#${idOf(1)}`) stage.table.sync.remove({ pk: item.pk, sk: item.sk });
      await asked(stage, 90, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      const ended = await stage.ask('GET', REPAIR);
      expect(ended.body).toMatchObject({ state: 'ended' });
    },
    tells: ['1: finished', '1: finished', '2: finished'],
    // Its event is recorded anew, and begins the chain once more.
    exceptFor: [1],
    crashes: false, // The process that dies may have recorded the operation before it is removed.
  },
  {
    name: 'a repair records an operation that the table has lost far below the bound',
    async script(stage) {
      stage.service.dials.pageRowsMax = 5;
      stage.begin(1, { status: 'finished' });
      for (let number = 10; number < 60; number++)
        stage.begin(number, { status: 'finished' }, (number - 9) * 15);
      await stage.runS(900);
      for (const item of stage.table.sync.items())
        if (item.sk === `OP#${idOf(1)}`) stage.table.sync.remove({ pk: item.pk, sk: item.sk });
      // A process that begins remembers nothing of the operation.
      stage.restart();
      await stage.runS(120);
      const toldCount = () => stage.events().filter(({ detail }) => detail.operation_id === idOf(1)).length;
      expect(toldCount()).toBe(1);
      await asked(stage, 90, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      expect(toldCount()).toBe(2);
    },
    exceptFor: [1],
    crashes: false, // The process that dies may have recorded the operation before it is removed.
  },
  {
    name: 'a repair of a project in which everything agrees tells nothing',
    async script(stage) {
      for (let number = 1; number <= 12; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      await asked(stage, 60, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      const ended = await stage.ask('GET', REPAIR);
      expect(ended.body).toMatchObject({ state: 'ended' });
    },
    tells: Array.from({ length: 12 }, (_, place) => `${place + 1}: finished`),
    also: ({ copies }) => expect(statesOf(copies())).toHaveLength(12),
    crashes: false, // A repair that a dying process leaves may be counted twice.
  },
  {
    name: 'a repair gives a row that was changed by hand the state of its last event back, and goes on from there',
    async script(stage) {
      stage.begin(1);
      await stage.runS(30);
      const key = stage.table.sync.items().find(({ sk }) => sk === `OP#${idOf(1)}`);
      stage.table.sync.update({
        key: { pk: key?.pk ?? '', sk: key?.sk ?? '' },
        set: { status: 'cancelled' },
        remove: [],
      });
      await asked(stage, 60, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      stage.change(1, { status: 'finished' });
      await stage.runS(120);
    },
    also: ({ events }) => expect(events().at(-1)?.detail.status).toBe('finished'),
    exceptFor: [1],
    crashes: false, // The process that dies may have recorded the operation anew before it is changed.
  },
  {
    name: 'a repair while the upstream refuses waits, and ends once it answers',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) =>
        path.endsWith('/operations') ? { status: 500 } : undefined;
      await asked(stage, 60, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      stage.service.dials.answers = () => undefined;
      await stage.runS(300);
      const ended = await stage.ask('GET', REPAIR);
      expect(ended.body).toMatchObject({ state: 'ended' });
    },
    tells: ['1: finished'],
    crashes: false, // A repair that a dying process leaves may be counted twice.
  },
  {
    name: 'a repair of a time in which nothing began waits for a reading, too, and ends once the upstream answers',
    isFirstSight: true,
    async script(stage) {
      stage.service.put(anOperationRow(9, stage.nowMs() - DAY_MS, { status: 'finished' }));
      await stage.runS(240);
      stage.service.dials.answers = () => ({ status: 503 });
      await asked(stage, 180, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      expect((await stage.ask('GET', REPAIR)).body).toMatchObject({ state: 'in_progress' });
      expect(stage.logs.filter(({ event }) => event === 'repair.ended')).toEqual([]);
      stage.service.dials.answers = () => undefined;
      await stage.runS(300);
      expect((await stage.ask('GET', REPAIR)).body).toMatchObject({ state: 'ended' });
    },
    exceptFor: [9],
    crashes: false, // A repair that a dying process leaves may be counted twice.
  },
  {
    name: 'a repair is taken up by the process that begins later, and what polls see beside it is told once',
    async script(stage) {
      stage.service.dials.pageRowsMax = 3;
      for (let number = 1; number <= 30; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      const answer = await stage.ask('POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      expect(answer.status).toBe(202);
      stage.restart();
      stage.begin(31, { status: 'finished' }, 5);
      await stage.runS(240);
      const ended = await stage.ask('GET', REPAIR);
      expect(ended.body).toMatchObject({ state: 'ended' });
    },
    tells: Array.from({ length: 31 }, (_, place) => `${place + 1}: finished`),
    crashes: false, // The time that is left may be too short for the third process.
  },
  {
    name: 'a repair sends a tenth of the requests and delays no poll',
    async script(stage) {
      stage.service.dials.pageRowsMax = 1;
      for (let number = 1; number <= 60; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(120);
      const earlier = stage.requests(LIST);
      await stage.runS(45);
      const before = stage.requests(LIST);
      await asked(stage, 30, 'POST', REPAIR, { since: timeOf(stage.nowMs() - HOUR_MS) });
      stage.begin(61, { status: 'finished' });
      await stage.runS(15);
      expect(stage.events().at(-1)?.detail.operation_id).toBe(idOf(61));
      // The limit is ten requests a second, and a repair has one of them.
      expect(stage.requests(LIST) - before).toBeLessThanOrEqual(before - earlier + 60);
    },
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
];

const REPLAYS: readonly Scenario[] = [
  {
    name: 'a replay sends the events of its range once more, each byte for byte',
    async script(stage) {
      for (let number = 1; number <= 15; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      const range = { since: timeOf(stage.nowMs() - HOUR_MS), until: timeOf(stage.nowMs() + 1_000) };
      await asked(stage, 60, 'POST', REPLAY, range);
      const ended = await stage.ask('GET', REPLAY);
      expect(ended.body).toMatchObject({ state: 'ended', sent_count: expect.any(Number) });
    },
    tells: Array.from({ length: 15 }, (_, place) => `${place + 1}: finished`),
    also: ({ copies }) => {
      const texts = statesOf(copies()).map(({ text }) => text);
      expect(texts).toHaveLength(30);
      expect(new Set(texts).size).toBe(15);
    },
    crashes: false, // A page that a dying process has sent is sent once more.
  },
  {
    name: 'a replay of another range sends nothing',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      const range = {
        since: timeOf(stage.nowMs() - 3 * HOUR_MS),
        until: timeOf(stage.nowMs() - 2 * HOUR_MS),
      };
      await asked(stage, 60, 'POST', REPLAY, range);
    },
    tells: ['1: finished'],
    also: ({ copies }) => expect(statesOf(copies())).toHaveLength(1),
    crashes: false, // A process that dies before its acknowledgement publishes the event twice.
  },
  {
    name: 'a replay sends the events of the chosen statuses and operations, and a dry run only counts them',
    async script(stage) {
      for (let number = 1; number <= 6; number++) stage.begin(number, { status: 'running' });
      await stage.runS(30);
      for (let number = 1; number <= 6; number++)
        stage.change(number, { status: number % 2 === 0 ? 'finished' : 'skipped' });
      await stage.runS(60);
      const range = { since: timeOf(stage.nowMs() - HOUR_MS), until: timeOf(stage.nowMs() + 1_000) };
      const choice = { ...range, detail_types: ['Operation State Changed'], statuses: ['finished'] };
      await asked(stage, 60, 'POST', REPLAY, { ...choice, is_dry_run: true });
      expect((await stage.ask('GET', REPLAY)).body).toMatchObject({ state: 'ended', sent_count: 3 });
      expect(statesOf(stage.copies())).toHaveLength(12);
      await asked(stage, 60, 'POST', REPLAY, choice);
      await asked(stage, 60, 'POST', REPLAY, { ...range, ids: [idOf(1)] });
      await asked(stage, 60, 'POST', REPLAY, { ...range, detail_types: ['Branch Ready'] });
    },
    tells: [1, 2, 3, 4, 5, 6].flatMap((number) => [
      `${number}: running`,
      `${number}: running -> ${number % 2 === 0 ? 'finished' : 'skipped'}`,
    ]),
    also: ({ copies }) => {
      const again = statesOf(copies()).slice(12);
      expect(again.map(({ detail }) => `${detail.operation_id} ${detail.status}`).toSorted()).toEqual(
        [2, 4, 6]
          .map((number) => `${idOf(number)} finished`)
          .concat(`${idOf(1)} running`, `${idOf(1)} skipped`)
          .toSorted(),
      );
    },
    crashes: false, // A page that a dying process has sent is sent once more.
  },
  {
    name: 'a replay while the bus takes nothing goes on once it does, and every event comes through once',
    async script(stage) {
      for (let number = 1; number <= 5; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      const range = { since: timeOf(stage.nowMs() - HOUR_MS), until: timeOf(stage.nowMs() + 1_000) };
      await asked(stage, 60, 'POST', REPLAY, range);
      stage.dials.bus = () => undefined;
      await stage.runS(180);
    },
    tells: [1, 2, 3, 4, 5].map((number) => `${number}: finished`),
    also: ({ copies }) => expect(statesOf(copies())).toHaveLength(10),
    crashes: false, // A page that a dying process has sent is sent once more.
  },
  {
    name: 'a replay that a caller stops sends nothing more, and another one can begin',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      stage.dials.bus = (events) => events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
      const range = { since: timeOf(stage.nowMs() - HOUR_MS), until: timeOf(stage.nowMs() + 1_000) };
      await asked(stage, 30, 'POST', REPLAY, range);
      expect((await asked(stage, 5, 'POST', REPLAY, range)).status).toBe(409);
      expect((await asked(stage, 5, 'DELETE', REPLAY)).status).toBe(200);
      stage.dials.bus = () => undefined;
      await stage.runS(60);
      expect(statesOf(stage.copies())).toHaveLength(1);
      expect((await asked(stage, 60, 'POST', REPLAY, range)).status).toBe(202);
    },
    tells: ['1: finished'],
    also: ({ copies }) => expect(statesOf(copies())).toHaveLength(2),
    crashes: false, // A page that a dying process has sent is sent once more.
  },
];

export const CALLERS: readonly Scenario[] = [...COMMANDS, ...READINGS, ...REPAIRS, ...REPLAYS];
