/** Scripts about what proves something and what does not: answers without a time, clocks that are wrong, and rows that hide others. */

import { expect } from 'vitest';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../bridge.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from '../rows.ts';
import { delayMsOf, type Scenario, type Stage } from './scenario.ts';

const OTHER = 'other-pond-12345678';
const LIST_OF_PROJECTS = '/projects';
const onList = (path: string) => path.endsWith('/operations');
const NO_OPERATIONS = { status: 200, body: { operations: [] } };

/** An operation took this long, from now on. */
function took({ service, nowMs }: Stage, number: number, durationMs: number): void {
  const row = anOperationRow(number, nowMs() + number * 10, {
    action: 'create_branch',
    branch_id: `br-${number}`,
  });
  const updated_at = timeOf(nowMs() + durationMs);
  service.put({ ...row, status: 'finished', updated_at, total_duration_ms: durationMs });
}

const PROJECTS: readonly Scenario[] = [
  {
    name: 'projects that are deleted by the dozen take a fifth of the requests, and the others go on',
    options: { settings: { requests_per_minute: 20, command_requests_per_minute: 0 } },
    async script(stage) {
      const many = Array.from({ length: 24 }, (_, place) => `deleted-pond-${10_000_000 + place}`);
      for (const id of many) stage.service.addProject(id);
      await stage.runS(180);
      for (const id of many) stage.service.removeProject(id);
      // The list still shows them, so nothing proves that they are gone.
      const projects = [...many, PROJECT_ID]
        .toSorted()
        .map((id) => ({ id, name: id, created_at: timeOf(0) }));
      stage.service.dials.answers = ({ path }) =>
        path === LIST_OF_PROJECTS ? { status: 200, body: { projects } } : undefined;
      await stage.runS(120);
      const before = stage.service.sent.length;
      stage.begin(1, { status: 'finished' }, 5);
      await stage.runS(300);
      const asked = stage.service.sent.slice(before);
      const inVain = asked.filter(({ path }) => many.some((id) => path.includes(id)));
      expect(inVain.length).toBeLessThanOrEqual(0.25 * asked.length);
      expect(stage.events('Project Unreachable')).toEqual([]);
    },
    also: ({ events }) =>
      expect(Math.max(...events('Operation State Changed').map(delayMsOf))).toBeLessThan(10 * SECOND_MS),
    crashes: false,
  },
  {
    name: 'rows of the project list that cannot be parsed are counted, and the projects beside them are polled',
    async script(stage) {
      const projects = [{ id: 7 }, null, { id: PROJECT_ID, name: 'a pond', created_at: timeOf(0) }];
      stage.service.dials.answers = ({ path }) =>
        path === LIST_OF_PROJECTS ? { status: 200, body: { projects } } : undefined;
      stage.restart();
      stage.begin(1, { status: 'finished' }, 100);
      await stage.runS(180);
    },
    tells: ['1: finished'],
    also: ({ measured }) => expect(Math.max(...(measured.get('MalformedRows') ?? [0]))).toBe(2),
  },
  {
    name: 'the record of a project that is gone is kept for 400 days, and for ever when the project comes back',
    async script(stage) {
      const kept = () =>
        stage.table.sync
          .items()
          .find(({ kind, project_id }) => kind === 'project' && project_id === PROJECT_ID);
      stage.service.addProject(OTHER);
      await stage.runS(60);
      expect(kept()).not.toHaveProperty('expires_at');
      stage.service.removeProject(PROJECT_ID);
      await stage.runS(300);
      const days = (Number(kept()?.['expires_at']) * SECOND_MS - stage.nowMs()) / DAY_MS;
      expect(Math.round(days)).toBe(400);
      stage.service.addProject(PROJECT_ID);
      await stage.runS(300);
      expect(kept()).not.toHaveProperty('expires_at');
    },
    crashes: false,
  },
  {
    name: 'what was open when its project went is asked for by no later process, and is watched no longer after a day',
    async script(stage) {
      await leaveOpen(stage);
      const before = stage.service.sent.length;
      stage.restart();
      await stage.runS(180);
      const asked = stage.service.sent.slice(before).filter(({ path }) => path.includes(OTHER));
      expect(asked).toEqual([]);
      expect(stage.events('Operation Watch Ended')).toEqual([]);
      await stage.rest(DAY_MS);
      await stage.runS(120);
    },
    tells: [
      '1: running',
      'Operation Watch Ended: 1 project_gone',
      `Project Discovered: ${OTHER}`,
      `Project Unreachable: ${OTHER} gone`,
    ],
    also({ table }) {
      const left = table.sync.items().filter(({ operation_id }) => operation_id === idOf(1));
      expect(left).toHaveLength(1);
      expect(left[0]).not.toHaveProperty('work');
      expect(left[0]).toHaveProperty('expires_at');
    },
    crashes: false,
  },
  {
    name: 'a project that could not be read and is deleted then is gone, and comes back by the list',
    async script(stage) {
      stage.service.addProject(OTHER);
      stage.begin(1, { project_id: OTHER });
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) =>
        path.startsWith(`/projects/${OTHER}/`) ? { status: 500 } : undefined;
      await stage.runS(1_200);
      stage.service.removeProject(OTHER);
      stage.service.remove(idOf(1));
      stage.service.dials.answers = () => undefined;
      await stage.runS(2_400);
      const before = stage.service.sent.length;
      stage.restart();
      await stage.runS(180);
      const asked = stage.service.sent.slice(before).filter(({ path }) => path.includes(OTHER));
      expect(asked).toEqual([]);
      stage.service.addProject(OTHER);
      await stage.runS(120);
    },
    tells: [
      '1: running',
      'Operation Watch Ended: 1 vanished',
      `Project Discovered: ${OTHER}`,
      `Project Discovered: ${OTHER}`,
      `Project Unreachable: ${OTHER} not_read`,
    ],
    crashes: false,
  },
  {
    name: 'what was open when its project went out of sight for some hours goes on when the project is back',
    async script(stage) {
      await leaveOpen(stage);
      await stage.rest(20 * HOUR_MS);
      await stage.runS(120);
      const updated_at = timeOf(stage.nowMs());
      const createdMs = stage.nowMs() - 21 * HOUR_MS;
      stage.service.addProject(OTHER);
      // What began later fills the first page, so only the index knows of the operation.
      for (let number = 10; number < 200; number++)
        stage.service.put(
          anOperationRow(number, stage.nowMs(), { project_id: OTHER, status: 'finished', updated_at }),
        );
      stage.service.put(
        anOperationRow(1, createdMs, {
          project_id: OTHER,
          action: 'apply_config',
          status: 'finished',
          updated_at,
        }),
      );
      await stage.runS(300);
    },
    also: ({ events }) =>
      expect(
        events()
          .filter(({ detail }) => detail.operation_id === idOf(1))
          .map(({ detail }) => detail.status),
      ).toEqual(['running', 'finished']),
    crashes: false,
  },
];

/** Deletes a project while an operation of it is open, and lets the bridge find out. */
async function leaveOpen(stage: Stage): Promise<void> {
  stage.service.addProject(OTHER);
  stage.begin(1, { project_id: OTHER });
  await stage.runS(60);
  stage.service.removeProject(OTHER);
  stage.service.remove(idOf(1));
  await stage.runS(300);
}

const HISTORY: readonly Scenario[] = [
  {
    name: 'an operation that the table has forgotten by its age is told no second time while the list shows it',
    async script(stage) {
      stage.begin(1, { status: 'finished' });
      await stage.runS(60);
      await stage.rest(205 * DAY_MS);
      stage.restart();
      await stage.runS(60);
    },
    tells: ['1: finished'],
    crashes: false, // What ended before a process died is history after so long a time.
  },
  {
    name: 'what ended in a project before it became visible is history, also when the bridge was there before',
    async script(stage) {
      await stage.runS(600);
      const endedMs = stage.nowMs() - 300 * SECOND_MS;
      stage.service.put(anOperationRow(1, endedMs, { project_id: OTHER, status: 'finished' }));
      stage.service.addProject(OTHER, timeOf(stage.nowMs() - 20 * DAY_MS));
      await stage.runS(120);
    },
    tells: [`Project Discovered: ${OTHER}`],
    exceptFor: [1],
  },
];

const COSTS: readonly Scenario[] = [
  {
    name: 'a project with an operation every ten seconds moves its bound once in four minutes at most',
    async script(stage) {
      // A list that is younger than the overlap is read to its end, on two pages.
      stage.service.put(anOperationRow(100, stage.nowMs() - DAY_MS, { status: 'finished' }));
      await stage.runS(60);
      const before = stage.calls().length;
      for (let number = 1; number <= 48; number++) stage.begin(number, { status: 'finished' }, number * 10);
      await stage.runS(500);
      const writes = stage
        .calls()
        .slice(before)
        .filter((kind) => kind === 'write PROJECT');
      expect(writes.length).toBeLessThanOrEqual(3);
    },
    tells: Array.from({ length: 48 }, (_, place) => `${place + 1}: finished`),
    exceptFor: [100],
    crashes: false, // A process that begins may move the bound once more.
  },
  {
    name: 'a sweep that fails is tried again after ten minutes, and not with every reading',
    async script(stage) {
      for (let number = 10; number < 150; number++) stage.begin(number, { status: 'finished' }, number * 5);
      await stage.runS(800);
      await stage.rest(2 * DAY_MS);
      const before = stage.service.sent.length;
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') ? { status: 500 } : undefined;
      await stage.runS(540);
      const asked = stage.service.sent.slice(before);
      const failed = asked.filter(({ path, query }) => onList(path) && query.has('cursor'));
      expect(failed.length).toBeGreaterThan(0);
      // One request is sent four times at most.
      expect(failed.length).toBeLessThanOrEqual(4);
    },
    crashes: false, // The next process does not know that the sweep has failed.
  },
  {
    name: 'a project that cannot be read costs no write of its own but that of its event',
    async script(stage) {
      stage.service.addProject(OTHER);
      await stage.runS(300);
      const writesIn = async (seconds: number) => {
        const before = stage.calls().length;
        await stage.runS(seconds);
        return stage
          .calls()
          .slice(before)
          .filter((kind) => kind.startsWith('write ') || kind === 'housekeeping');
      };
      const usual = await writesIn(1_200);
      stage.service.dials.answers = ({ path }) =>
        path.startsWith(`/projects/${PROJECT_ID}/`) ? { status: 500 } : undefined;
      const unread = await writesIn(1_200);
      // The event is one write, and its acknowledgement another one.
      expect(unread.length).toBeLessThanOrEqual(usual.length + 2);
    },
    tells: [`Project Discovered: ${OTHER}`, `Project Unreachable: ${PROJECT_ID} not_read`],
    crashes: false, // A process that begins writes its lease and its status.
  },
  {
    name: 'a key that is refused in the middle of a sweep stops the account',
    async script(stage) {
      for (let number = 1; number <= 40; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(60);
      await stage.rest(2 * DAY_MS);
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') ? { status: 401 } : undefined;
      await stage.runS(60);
      const before = stage.service.sent.length;
      await stage.runS(60);
      expect(stage.service.sent.length - before).toBeLessThanOrEqual(2);
    },
    also: ({ events }) =>
      expect(events('Account Degraded').map(({ detail }) => detail['reason'])).toEqual(['key_rejected']),
    crashes: false, // The next process does not know that the key was refused.
  },
];

const TIMES: readonly Scenario[] = [
  {
    name: 'an upstream whose answers say no time is told truly',
    isFirstSight: true,
    async script(stage) {
      stage.service.dials.dateOffsetMs = undefined;
      stage.service.put(anOperationRow(9, stage.nowMs() - DAY_MS, { status: 'finished' }));
      await stage.runS(60);
      stage.begin(1);
      stage.change(1, { status: 'finished' }, 30);
      await stage.runS(60);
      stage.restart();
      stage.service.addProject(OTHER);
      stage.begin(2, { status: 'finished', project_id: OTHER }, 20);
      for (let number = 10; number < 250; number++) stage.begin(number, { status: 'finished' }, 90);
      await stage.runS(300);
    },
    exceptFor: [9],
    also: ({ events }) =>
      expect(events().filter(({ detail }) => detail.operation_id === idOf(9))).toEqual([]),
  },
  {
    name: 'a sweep is due a day after the clock of its process was days ahead',
    async script(stage) {
      stage.dials.clockOffsetMs = 3 * DAY_MS;
      stage.restart();
      const createdMs = stage.nowMs();
      for (let number = 10; number < 100; number++) stage.begin(number, { status: 'finished' }, number * 5);
      await stage.runS(600);
      stage.dials.clockOffsetMs = 0;
      stage.restart();
      await stage.runS(120);
      stage.service.put(
        anOperationRow(2, createdMs + 55_000, { action: 'apply_config', status: 'finished' }),
      );
      await stage.rest(DAY_MS);
      await stage.runS(120);
    },
    also: ({ events }) =>
      expect(events().filter(({ detail }) => detail.operation_id === idOf(2))).toHaveLength(1),
    crashes: false,
  },
  {
    name: 'an operation is not stalled within five minutes, however quick its kind usually is, and is stalled once',
    async script(stage) {
      for (let number = 100; number < 160; number++) took(stage, number, 2_000);
      await stage.runS(700);
      stage.begin(1, { action: 'create_branch' });
      await stage.runS(280);
      expect(stage.events('Operation Stalled')).toEqual([]);
      await stage.runS(60);
      // What is usual changes while the operation is open.
      for (let number = 200; number < 290; number++) took(stage, number, 120_000);
      await stage.runS(1_200);
    },
    also: ({ events }) =>
      expect(events('Operation Stalled').map(({ detail }) => detail['threshold_ms'])).toEqual([300_000]),
    crashes: false,
  },
];

const ROWS: readonly Scenario[] = [
  {
    name: 'a page of nothing but rows that cannot be parsed ends no list',
    async script(stage) {
      for (let number = 1; number <= 5; number++) stage.begin(number, { status: 'finished' });
      const { dials, rows } = stage.service;
      const broken = Array.from({ length: 10 }, (_, place) => ({ id: place }));
      dials.answers = ({ path, query }) => {
        if (!onList(path)) return undefined;
        const cursor = query.get('cursor');
        if (cursor === null) return page(broken, 'to the second page');
        return cursor === 'to the second page' ? page(rows().toReversed(), undefined) : NO_OPERATIONS;
      };
      await stage.runS(60);
    },
    tells: Array.from({ length: 5 }, (_, place) => `${place + 1}: finished`),
  },
  {
    name: 'a walk that fails where another process has stopped goes on there, and does not begin again',
    async script(stage) {
      stage.service.dials.pageRowsMax = 5;
      for (let number = 1; number <= 200; number++) stage.begin(number, { status: 'finished' });
      await stage.runS(8);
      stage.restart();
      const failedAt: string[] = [];
      stage.service.dials.answers = ({ path, query }) => {
        const cursor = query.get('cursor');
        if (!onList(path) || cursor === null || failedAt.length >= 8) return undefined;
        failedAt.push(cursor);
        return { status: 503 };
      };
      await stage.runS(400);
      expect(failedAt).toHaveLength(8);
      expect(new Set(failedAt).size).toBe(1);
    },
    tells: Array.from({ length: 200 }, (_, place) => `${place + 1}: finished`),
    crashes: false,
  },
];

function page(operations: readonly unknown[], cursor: string | undefined) {
  return { status: 200, body: { operations, ...(cursor !== undefined && { pagination: { cursor } }) } };
}

/** Lists the scripts of this file. */
export const EVIDENCE: readonly Scenario[] = [...PROJECTS, ...HISTORY, ...COSTS, ...TIMES, ...ROWS];
