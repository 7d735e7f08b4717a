/** Scripts about the list of operations: its pages, its order, rows that are late, malformed or from another time. */

import { expect } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../bridge.ts';
import { anOperationRow, idOf, PROJECT_ID, timeOf } from '../rows.ts';
import type { Row } from '../service.ts';
import type { Scenario, Stage } from './scenario.ts';

const LIST = /^GET .*\/operations$/;
const finished = (count: number, first = 1) =>
  Array.from({ length: count }, (_, place) => `${first + place}: finished`);

/** So many operations have begun and ended at this moment. */
function burst({ begin }: Stage, count: number, first = 1): void {
  for (let number = first; number < first + count; number++) begin(number, { status: 'finished' });
}

const onList = (path: string) => path.endsWith('/operations');

export const LISTS: readonly Scenario[] = [
  {
    name: 'more operations than a page holds are read page by page',
    async script(stage) {
      stage.service.dials.pageRowsMax = 7;
      burst(stage, 60);
      await stage.runS(60);
    },
    tells: finished(60),
  },
  {
    name: 'pages of a single row lose nothing',
    async script(stage) {
      stage.service.dials.pageRowsMax = 1;
      burst(stage, 15);
      await stage.runS(90);
    },
    tells: finished(15),
  },
  {
    name: 'pages whose size changes with each request lose nothing',
    async script(stage) {
      const { dials } = stage.service;
      let count = 0;
      dials.answers = ({ path }) => {
        if (onList(path)) dials.pageRowsMax = 1 + ((count++ * 7) % 13);
        return undefined;
      };
      burst(stage, 50);
      await stage.runS(90);
    },
    tells: finished(50),
  },
  {
    name: 'a list that is too long for one invocation is read on by the next ones, and what is new comes first',
    async script(stage) {
      stage.service.dials.pageRowsMax = 2;
      burst(stage, 400);
      await stage.runS(50);
      stage.begin(401, { status: 'finished' });
      await stage.runS(20);
      expect(stage.events().some(({ detail }) => detail.operation_id === idOf(401))).toBe(true);
      await stage.runS(300);
    },
    tells: finished(401),
    crashes: false,
  },
  {
    name: 'a cursor that the upstream refuses is given up, and the list is read from its head',
    async script(stage) {
      const { dials } = stage.service;
      dials.pageRowsMax = 5;
      let refusedCount = 0;
      dials.answers = ({ path, query }) => {
        const isRefused = onList(path) && query.has('cursor') && refusedCount < 2;
        if (isRefused) refusedCount += 1;
        return isRefused ? { status: 400, body: { message: 'invalid cursor' } } : undefined;
      };
      burst(stage, 30);
      await stage.runS(120);
    },
    tells: finished(30),
  },
  {
    name: 'a list of which every cursor is refused is asked for less and less often, and is read when one is taken',
    async script(stage) {
      const { dials } = stage.service;
      dials.pageRowsMax = 5;
      for (let number = 1; number <= 20; number++) stage.begin(number, { status: 'finished' });
      dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') ? { status: 400, body: {} } : undefined;
      await stage.runS(120);
      expect(stage.requests(/\/operations$/)).toBeLessThanOrEqual(40);
      dials.answers = () => undefined;
      await stage.runS(180);
    },
    tells: finished(20),
  },
  {
    name: 'a cursor that goes round in a circle ends the walk',
    async script(stage) {
      const { dials } = stage.service;
      burst(stage, 30);
      const rows = stage.service.rows().slice(0, 10);
      dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor')
          ? { status: 200, body: { operations: rows, pagination: { cursor: '2020-01-01T00:00:00.000001Z' } } }
          : undefined;
      await stage.runS(30);
      expect(stage.requests(LIST)).toBeLessThan(60);
      dials.answers = () => undefined;
      await stage.runS(90);
    },
    tells: finished(30),
  },
  {
    name: 'rows twice on a page and on two pages are told once',
    async script(stage) {
      const { dials, rows } = stage.service;
      burst(stage, 12);
      dials.answers = ({ path, query }) => {
        if (!onList(path) || query.has('cursor')) return undefined;
        const page = rows().toReversed().slice(0, 8);
        const cursor = `${page.at(-3)?.created_at.slice(0, -1)}.000006Z`;
        return {
          status: 200,
          body: { operations: page.flatMap((row) => [row, row]), pagination: { cursor } },
        };
      };
      await stage.runS(60);
    },
    tells: finished(12),
  },
  {
    name: 'a row that cannot be parsed is passed over, is counted, and holds up no other',
    async script(stage) {
      const { dials, rows } = stage.service;
      burst(stage, 3);
      const broken = [{ id: 7 }, null, 'text', { ...rows()[0], id: 'x'.repeat(2_000) }];
      dials.answers = ({ path }) =>
        onList(path) ? { status: 200, body: { operations: [...broken, ...rows().toReversed()] } } : undefined;
      stage.change(2, { status: 'running' }, 20);
      // A reading that goes back is believed when it was requested a minute after the recorded one.
      await stage.runS(120);
    },
    tells: ['1: finished', '2: finished', '2: finished -> running (irregular)', '3: finished'],
    also: ({ measured }) =>
      expect(Math.max(...(measured.get('MalformedRows') ?? [0]))).toBeGreaterThanOrEqual(4),
  },
  {
    name: 'a row that can be parsed again is told',
    async script({ begin, service, runS }) {
      begin(1, { status: 'finished', failures_count: -1 });
      begin(2, { status: 'finished' });
      await runS(30);
      const row = service.rows().find(({ id }) => id === idOf(1));
      service.put({ ...(row as Row), failures_count: 0 });
      await runS(90);
    },
    tells: finished(2),
  },
  {
    name: 'an operation that becomes visible four minutes late is found by the next reading',
    async script({ begin, service, nowMs, runS }) {
      const createdMs = nowMs();
      begin(1, { status: 'finished' });
      await runS(240);
      service.put(anOperationRow(2, createdMs, { action: 'apply_config', status: 'finished' }));
      begin(3, { status: 'finished' });
      await runS(30);
    },
    tells: finished(3),
  },
  {
    name: 'an operation that becomes visible four minutes late is found by the next reading below a bound that has moved',
    async script({ begin, service, nowMs, runS }) {
      await runS(600);
      for (let number = 10; number < 40; number++) begin(number, { status: 'finished' });
      await runS(60);
      service.put(anOperationRow(2, nowMs() - 240_000, { action: 'apply_config', status: 'finished' }));
      await runS(60);
    },
    tells: ['2: finished', ...finished(30, 10)],
  },
  {
    name: 'an operation that becomes visible late below a walk that was cut short is found when the walk ends',
    async script({ begin, service, nowMs, runS }) {
      await runS(600);
      for (let number = 10; number < 40; number++) begin(number, { status: 'finished' });
      await runS(60);
      service.dials.pageRowsMax = 5;
      const lateMs = nowMs() - 180_000;
      for (let number = 100; number < 400; number++) begin(number, { status: 'finished' });
      await runS(5);
      service.put(anOperationRow(2, lateMs, { action: 'apply_config', status: 'finished' }));
      await runS(300);
    },
    tells: ['2: finished', ...finished(30, 10), ...finished(300, 100)],
  },
  {
    name: 'of an operation that stands on a page twice, the upper row counts',
    async script({ begin, service, runS }) {
      begin(1);
      const [earlier] = service.rows();
      begin(1, { status: 'finished', updated_at: timeOf(Date.UTC(2026, 0, 15, 12, 5)) });
      service.dials.answers = ({ path }) =>
        onList(path) ? { status: 200, body: { operations: [...service.rows(), earlier] } } : undefined;
      await runS(120);
    },
    tells: finished(1),
  },
  {
    name: 'an operation that becomes visible two days late is found by a sweep, and says that it is late',
    async script({ begin, service, nowMs, runS, rest }) {
      service.dials.pageRowsMax = 5;
      const createdMs = nowMs();
      for (let number = 10; number < 70; number++) begin(number, { status: 'finished' }, number * 20);
      await runS(1_440);
      await rest(2 * DAY_MS);
      service.put(anOperationRow(2, createdMs + 205_000, { action: 'apply_config', status: 'finished' }));
      await runS(120);
    },
    tells: ['2: finished (late, sweep)', ...finished(60, 10)],
    // No reading could have been sooner.
    also: ({ measured }) => {
      for (const name of ['DetectionDelayMs', 'PublishDelayMs'])
        expect(Math.max(...(measured.get(name) ?? []))).toBeLessThan(120_000);
    },
  },
  {
    name: 'a list that is not newest first loses nothing',
    async script({ begin, service, runS }) {
      for (let number = 1; number <= 20; number++) begin(number, { status: 'finished' }, number);
      service.dials.answers = ({ path, query }) => {
        if (!onList(path) || query.has('cursor')) return undefined;
        return {
          status: 200,
          body: { operations: service.rows().toSorted((a, b) => (a.id < b.id ? -1 : 1)) },
        };
      };
      await runS(120);
    },
    tells: finished(20),
  },
  {
    name: 'microsecond times of the upstream are compared exactly and passed on as they came',
    async script({ begin, nowMs, runS }) {
      const second = timeOf(nowMs()).slice(0, -1);
      begin(1, { status: 'finished', created_at: `${second}.123456789Z` });
      begin(2, { status: 'finished', created_at: `${second}.1234567891Z` });
      begin(3, { status: 'finished', created_at: `${second}.5+00:00` });
      await runS(60);
    },
    tells: finished(3),
    also: ({ events }) =>
      expect(events().map(({ detail }) => String(detail['operation_created_at']).slice(19))).toEqual(
        expect.arrayContaining(['.123456789Z']),
      ),
  },
  {
    name: 'an answer without rows, without pagination or with an empty cursor ends a list',
    async script(stage) {
      const { dials, rows } = stage.service;
      burst(stage, 2);
      const bodies = [
        { operations: [] },
        { operations: rows(), pagination: null },
        { operations: rows(), pagination: { cursor: '' } },
      ];
      let count = 0;
      dials.answers = ({ path }) => (onList(path) ? { status: 200, body: bodies[count++ % 3] } : undefined);
      await stage.runS(60);
    },
    tells: finished(2),
    also: ({ requests }) => expect(requests(LIST)).toBeLessThanOrEqual(30),
  },
  {
    name: 'a project that sleeps for a year wakes up with news alone',
    async script({ begin, runS, rest }) {
      for (let number = 1; number <= 5; number++) begin(number, { status: 'finished' });
      await runS(60);
      for (let month = 0; month < 12; month++) {
        await rest(30 * DAY_MS);
        await runS(60);
      }
      begin(6, { status: 'finished' });
      await runS(60);
    },
    tells: [...finished(5), '6: finished'],
    crashes: false,
  },
  {
    name: 'a poller that was away for months loses nothing of them',
    async script({ begin, runS, rest, service, nowMs, table }) {
      begin(1, { status: 'finished' });
      await runS(60);
      for (let number = 2; number < 20; number++)
        service.put(
          anOperationRow(number, nowMs() + number * DAY_MS, { action: 'apply_config', status: 'finished' }),
        );
      await rest(40 * DAY_MS);
      table.sync.expire(nowMs());
      await runS(120);
    },
    tells: finished(19),
  },
  {
    name: 'what a replica does not show yet is told once it does',
    async script({ begin, change, service, runS }) {
      service.dials.listLagMs = 30_000;
      begin(1);
      change(1, { status: 'finished' }, 10);
      await runS(120);
    },
    tells: ['1: running', '1: running -> finished'],
  },
  {
    name: 'a quiet project costs one request a reading and no write',
    async script({ runS, table }) {
      await runS(60);
      const before = table.spent.base;
      await runS(60);
      // Health and the lease are written once a minute each.
      expect(table.spent.base - before).toBeLessThanOrEqual(6);
    },
    tells: [],
    also: ({ requests }) => {
      expect(requests(LIST)).toBeGreaterThanOrEqual(20);
      expect(requests(LIST)).toBeLessThanOrEqual(26);
      expect(requests(/\/operations\/.+/)).toBe(0);
    },
    crashes: false,
  },
  {
    name: 'history from before the first sight of the account is not told',
    async script({ service, nowMs, runS }) {
      service.put(anOperationRow(1, nowMs() - 10 * MINUTE_MS, { status: 'finished' }));
      service.put(anOperationRow(2, nowMs() - 10 * DAY_MS, { status: 'error' }));
      await runS(60);
    },
    tells: [],
    exceptFor: [1, 2],
  },
  ...(['open', 'all', 'none'] as const).map(
    (backfill): Scenario => ({
      name: `what is there when an account is seen first is told as backfill "${backfill}" says`,
      options: { settings: { backfill, project_ids: [PROJECT_ID] } },
      isFirstSight: true,
      async script({ service, nowMs, runS, change }) {
        service.put(anOperationRow(1, nowMs() - DAY_MS, { action: 'apply_config', status: 'finished' }));
        service.put(anOperationRow(2, nowMs() - MINUTE_MS, { action: 'apply_config' }));
        await runS(60);
        change(2, { status: 'finished' });
        await runS(60);
      },
      tells: {
        open: ['2: running (backfill)', '2: running -> finished'],
        all: ['1: finished (backfill)', '2: running (backfill)', '2: running -> finished'],
        none: ['2: running -> finished'],
      }[backfill],
      exceptFor: [1, 2],
      crashes: false,
    }),
  ),
];
