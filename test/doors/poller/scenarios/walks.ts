/** Scripts about how the list of operations is read: walks, what cuts them short, sweeps, and operations beside the list. */

import { expect } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../bridge.ts';
import { anOperationRow, idOf, timeOf } from '../rows.ts';
import type { Row } from '../service.ts';
import type { Scenario, Stage } from './scenario.ts';

const LIST = /^GET .*\/operations$/;
const READ_ONE = /^GET .*\/operations\/.+/;
const onList = (path: string) => path.endsWith('/operations');

const finished = (count: number, first = 1) =>
  Array.from({ length: count }, (_, place) => `${first + place}: finished`);

/** So many operations have begun and ended, the last one now. */
function past({ service, nowMs }: Stage, count: number, first = 1, apartMs = 100): void {
  for (let place = 0; place < count; place++)
    service.put(
      anOperationRow(first + place, nowMs() - (count - 1 - place) * apartMs, {
        action: 'apply_config',
        status: 'finished',
      }),
    );
}

/** The list leaves these operations out, and a single read shows them. */
function hideFromList({ service }: Stage, numbers: readonly number[]): void {
  const hidden = new Set(numbers.map(idOf));
  service.dials.answers = ({ path, query }) => {
    if (!onList(path) || query.has('cursor')) return undefined;
    const rows = service.rows().filter(({ id }) => !hidden.has(id));
    return { status: 200, body: { operations: rows.toReversed() } };
  };
}

/** Lists all rows in this order, a page of so many at a time, with the place of the next page as cursor. */
function listBy({ service }: Stage, order: (a: Row, b: Row) => number, pageRows: number): void {
  service.dials.answers = ({ path, query }) => {
    if (!onList(path)) return undefined;
    const from = Number(query.get('cursor') ?? 0);
    const rows = service.rows().toSorted(order);
    const next = from + pageRows;
    const pagination = next < rows.length ? { pagination: { cursor: String(next) } } : {};
    return { status: 200, body: { operations: rows.slice(from, next), ...pagination } };
  };
}

const byId = (a: Row, b: Row) => (a.id < b.id ? -1 : 1);
const oldestFirst = (a: Row, b: Row) => (a.created_at < b.created_at ? -1 : 1);

const WALKS: readonly Scenario[] = [
  {
    name: 'a reading after a complete one asks for one page, however long the list is',
    async script(stage) {
      past(stage, 300);
      await stage.runS(60);
      const before = stage.requests(LIST);
      await stage.runS(60);
      expect(stage.requests(LIST) - before).toBeLessThanOrEqual(32);
    },
    tells: finished(300),
    crashes: false, // A process that begins reads the list once more.
  },
  {
    name: 'a list of several pages that did not change costs no write',
    async script(stage) {
      stage.service.dials.pageRowsMax = 20;
      past(stage, 70);
      await stage.runS(90);
      await stage.rest(10 * MINUTE_MS);
      await stage.runS(60);
      const before = stage.table.spent.base;
      await stage.runS(60);
      expect(stage.table.spent.base - before).toBeLessThanOrEqual(6);
    },
    tells: finished(70),
    crashes: false, // A process that begins writes its lease and its status.
  },
  {
    name: 'a process that begins reads a recorded list once and tells nothing of it again',
    async script(stage) {
      past(stage, 80);
      await stage.runS(60);
      stage.restart();
      await stage.runS(120);
    },
    tells: finished(80),
    also: ({ copies }) =>
      expect(copies().filter(({ type }) => type.startsWith('Operation'))).toHaveLength(80),
  },
  {
    name: 'a walk that one process has cut short is finished by the next, and what is new comes before what is old',
    async script(stage) {
      stage.service.dials.pageRowsMax = 2;
      past(stage, 200, 1, 100);
      await stage.runS(8);
      stage.restart();
      stage.begin(201, { status: 'finished' });
      await stage.runS(90);
      const order = stage.events().map(({ detail }) => detail.operation_id);
      expect(order.indexOf(idOf(201))).toBeLessThan(order.indexOf(idOf(1)));
      await stage.runS(120);
    },
    tells: finished(201),
    crashes: false, // The process that dies may have read the list to its end before the new operation begins.
  },
  {
    name: 'a walk whose cursor is refused in another process begins again at the head and loses nothing',
    async script(stage) {
      stage.service.dials.pageRowsMax = 2;
      past(stage, 120, 1, 100);
      await stage.runS(6);
      stage.restart();
      let refusedCount = 0;
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') && refusedCount++ < 1
          ? { status: 400, body: { message: 'invalid cursor' } }
          : undefined;
      await stage.runS(240);
    },
    tells: finished(120),
  },
  {
    name: 'a walk that an upstream cuts short with an error keeps what it has read',
    async script(stage) {
      stage.service.dials.pageRowsMax = 10;
      past(stage, 50);
      let count = 0;
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') && count++ < 2 ? { status: 500 } : undefined;
      await stage.runS(12);
      expect(stage.events().length).toBeGreaterThanOrEqual(10);
      await stage.runS(120);
    },
    tells: finished(50),
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than these seconds.
  },
  {
    name: 'operations that begin while a walk goes on are told, too',
    async script(stage) {
      stage.service.dials.pageRowsMax = 3;
      past(stage, 90);
      for (let number = 91; number <= 120; number++)
        stage.begin(number, { status: 'finished' }, (number - 90) * 0.4);
      await stage.runS(180);
    },
    tells: finished(120),
  },
  {
    name: 'operations of one microsecond at the end of a page are all told',
    async script(stage) {
      const second = timeOf(stage.nowMs()).slice(0, -1);
      for (let number = 1; number <= 110; number++)
        stage.begin(number, { status: 'finished', ...(number <= 20 && { created_at: `${second}.000000Z` }) });
      await stage.runS(60);
    },
    tells: finished(110),
  },
  {
    name: 'a project whose list cannot be read for a week loses nothing of it',
    async script(stage) {
      past(stage, 5);
      await stage.runS(60);
      await stage.rest(DAY_MS);
      stage.service.dials.answers = ({ path }) => (onList(path) ? { status: 500 } : undefined);
      for (let day = 0; day < 7; day++) {
        past(stage, 4, 6 + day * 4, HOUR_MS);
        await stage.runS(60);
        await stage.rest(DAY_MS);
      }
      stage.service.dials.answers = () => undefined;
      await stage.runS(480);
    },
    also: ({ events }) => expect(events('Operation State Changed')).toHaveLength(33),
  },
  {
    name: 'a table that has forgotten old operations tells none of them again',
    async script(stage) {
      past(stage, 30);
      await stage.runS(60);
      for (let week = 0; week < 10; week++) {
        await stage.rest(7 * DAY_MS);
        stage.table.sync.expire(stage.nowMs());
        await stage.runS(60);
      }
      past(stage, 1, 31);
      await stage.runS(60);
    },
    tells: finished(31),
    takesOver: false, // The second edition alone tells nothing of the last operation here.
  },
  {
    name: 'a bound that somebody lowers is read down to again within minutes, although the first page stays the same',
    async script(stage) {
      stage.service.dials.pageRowsMax = 3;
      await stage.rest(10 * HOUR_MS);
      past(stage, 4, 2, HOUR_MS);
      await stage.runS(60);
      // This row becomes visible so late that no walk looks for it.
      stage.service.put(
        anOperationRow(1, stage.nowMs() - 4 * HOUR_MS, { action: 'apply_config', status: 'finished' }),
      );
      await stage.runS(60);
      const project = stage.table.sync.items().find(({ sk }) => sk === 'PROJECT');
      const low = `${timeOf(stage.nowMs() - 8 * HOUR_MS).slice(0, 19)}.000000000Z`;
      stage.table.sync.update({
        key: { pk: project?.pk ?? '', sk: 'PROJECT' },
        set: { watermark: low, bound: 'lowered' },
      });
      await stage.runS(400);
    },
    tells: finished(5),
    crashes: false, // Which process remembers the first page is drawn otherwise.
  },
  {
    name: 'an operation that fails again after the table has forgotten its neighbours is told in its chain',
    async script(stage) {
      past(stage, 10);
      stage.begin(11);
      stage.change(11, { status: 'failed', failures_count: 1 }, 10);
      await stage.runS(60);
      await stage.rest(20 * DAY_MS);
      stage.table.sync.expire(stage.nowMs());
      stage.change(11, { status: 'failed', failures_count: 2 });
      await stage.runS(60);
      stage.change(11, { status: 'finished' });
      await stage.runS(60);
    },
    tells: [
      ...finished(10),
      '11: running',
      '11: running -> failed, failures 1',
      '11: failed -> failed, failures 2',
      '11: failed -> finished',
    ],
  },
  {
    name: 'the first reading of a very long list tells no history and ends at a page, not at the list',
    isFirstSight: true,
    async script(stage) {
      for (let number = 1; number <= 600; number++)
        stage.service.put(
          anOperationRow(number, stage.nowMs() - number * HOUR_MS, {
            action: 'apply_config',
            status: 'finished',
          }),
        );
      await stage.runS(60);
      stage.begin(601, { status: 'finished' });
      await stage.runS(60);
    },
    tells: ['601: finished'],
    exceptFor: Array.from({ length: 600 }, (_, place) => place + 1),
  },
  {
    name: 'a first reading that is cut short takes nothing for news that was history',
    isFirstSight: true,
    async script(stage) {
      stage.service.dials.pageRowsMax = 4;
      for (let number = 1; number <= 80; number++)
        stage.service.put(
          anOperationRow(number, stage.nowMs() - number * HOUR_MS, {
            action: 'apply_config',
            status: 'finished',
          }),
        );
      let count = 0;
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') && count++ % 4 === 3 ? { status: 503 } : undefined;
      await stage.runS(600);
      stage.begin(81, { status: 'finished' });
      await stage.runS(360);
    },
    tells: ['81: finished'],
    exceptFor: Array.from({ length: 80 }, (_, place) => place + 1),
  },
];

const SWEEPS: readonly Scenario[] = [
  {
    name: 'a sweep is due once a day, and costs a few requests',
    async script(stage) {
      past(stage, 40);
      await stage.runS(60);
      for (let day = 0; day < 3; day++) {
        await stage.rest(DAY_MS);
        const before = stage.requests(LIST);
        await stage.runS(60);
        expect(stage.requests(LIST) - before).toBeLessThanOrEqual(30);
      }
    },
    tells: finished(40),
    crashes: false, // A process that begins reads the list once more.
  },
  {
    name: 'a sweep that the upstream fails is tried again, finds what is late, and delays nothing new',
    async script(stage) {
      const createdMs = stage.nowMs();
      for (let number = 10; number < 150; number++) stage.begin(number, { status: 'finished' }, number * 5);
      await stage.runS(800);
      await stage.rest(2 * DAY_MS);
      stage.service.put(
        anOperationRow(2, createdMs + 55_000, { action: 'apply_config', status: 'finished' }),
      );
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') ? { status: 500 } : undefined;
      stage.begin(3, { status: 'finished' }, 20);
      await stage.runS(60);
      expect(stage.events().some(({ detail }) => detail.operation_id === idOf(3))).toBe(true);
      stage.service.dials.answers = () => undefined;
      await stage.runS(900);
    },
    tells: ['2: finished (late, sweep)', '3: finished', ...finished(140, 10)],
    crashes: false, // A process that dies leaves a lease, which the next one waits for longer than the minute.
  },
  {
    name: 'a sweep that a process has begun is finished by another one',
    async script(stage) {
      const createdMs = stage.nowMs();
      for (let number = 10; number < 150; number++) stage.begin(number, { status: 'finished' }, number * 5);
      await stage.runS(800);
      await stage.rest(2 * DAY_MS);
      stage.service.dials.pageRowsMax = 5;
      stage.service.put(
        anOperationRow(2, createdMs + 55_000, { action: 'apply_config', status: 'finished' }),
      );
      await stage.runS(10);
      stage.restart();
      await stage.runS(300);
    },
    tells: ['2: finished (late, sweep)', ...finished(140, 10)],
  },
  {
    name: 'a sweep whose cursor is refused begins anew and finds what is late',
    async script(stage) {
      stage.service.dials.pageRowsMax = 5;
      const createdMs = stage.nowMs();
      for (let number = 10; number < 100; number++) stage.begin(number, { status: 'finished' }, number * 20);
      await stage.runS(2_020);
      await stage.rest(2 * DAY_MS);
      stage.service.put(
        anOperationRow(2, createdMs + 205_000, { action: 'apply_config', status: 'finished' }),
      );
      let refusedCount = 0;
      stage.service.dials.answers = ({ path, query }) =>
        onList(path) && query.has('cursor') && refusedCount++ < 2 ? { status: 400, body: {} } : undefined;
      await stage.runS(900);
      expect(refusedCount).toBeGreaterThan(2);
    },
    tells: ['2: finished (late, sweep)', ...finished(90, 10)],
  },
  {
    name: 'an operation that becomes visible eight days late lies deeper than a sweep goes',
    async script(stage) {
      stage.service.dials.pageRowsMax = 5;
      const createdMs = stage.nowMs();
      for (let number = 10; number < 130; number++) stage.begin(number, { status: 'finished' }, number * 5);
      await stage.runS(700);
      await stage.rest(8 * DAY_MS);
      past(stage, 120, 200);
      await stage.runS(600);
      stage.service.put(
        anOperationRow(2, createdMs + 55_000, { action: 'apply_config', status: 'finished' }),
      );
      await stage.rest(DAY_MS);
      await stage.runS(60);
    },
    tells: [...finished(120, 10), ...finished(120, 200)],
    exceptFor: [2],
    crashes: false, // A process that dies may leave a walk that goes deeper.
  },
];

const BESIDE_THE_LIST: readonly Scenario[] = [
  {
    name: 'an open operation that no page shows is read by itself, and its end is told',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      hideFromList(stage, [1]);
      stage.change(1, { status: 'finished' }, 30);
      await stage.runS(180);
    },
    tells: ['1: running', '1: running -> finished'],
    crashes: false, // A list that hides the operation hides it from a process that begins later.
    also: ({ requests }) => {
      expect(requests(READ_ONE)).toBeGreaterThanOrEqual(1);
      expect(requests(READ_ONE)).toBeLessThanOrEqual(20);
    },
  },
  {
    name: 'an open operation that the list shows is never read by itself',
    async script(stage) {
      stage.begin(1);
      await stage.runS(300);
      stage.change(1, { status: 'finished' });
      await stage.runS(30);
    },
    tells: ['1: running', '1: running -> finished'],
    also: ({ requests }) => expect(requests(READ_ONE)).toBe(0),
  },
  {
    name: 'an open operation behind the first page is seen with the pages, and its end at once',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      past(stage, 150, 2, 10);
      await stage.runS(60);
      stage.change(1, { status: 'finished' });
      await stage.runS(30);
    },
    tells: ['1: running', '1: running -> finished', ...finished(150, 2)],
  },
  {
    name: 'an open operation behind pages that hold a single row is read by itself',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      past(stage, 20, 2, 10);
      stage.service.dials.pageRowsMax = 1;
      await stage.runS(600);
      stage.change(1, { status: 'finished' });
      await stage.runS(120);
    },
    also: ({ requests, events }) => {
      expect(requests(READ_ONE)).toBeGreaterThanOrEqual(1);
      expect(events().at(-1)?.detail).toMatchObject({ operation_id: idOf(1), status: 'finished' });
    },
  },
  {
    name: 'no operation is read by itself while the list cannot be read, because the list might show it',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      stage.service.dials.answers = ({ path }) => (onList(path) ? { status: 500 } : undefined);
      const before = stage.requests(READ_ONE);
      await stage.runS(120);
      expect(stage.requests(READ_ONE) - before).toBe(0);
      stage.service.dials.answers = () => undefined;
      stage.change(1, { status: 'finished' });
      await stage.runS(300);
    },
    tells: ['1: running', '1: running -> finished'],
  },
  {
    name: 'an operation that answers 404 in a project that answers 404 has not vanished',
    async script(stage) {
      stage.service.addProject('other-pond-12345678');
      stage.begin(1);
      await stage.runS(60);
      stage.service.dials.answers = ({ path }) =>
        path.startsWith('/projects/quiet-pond-12345678/') ? { status: 404 } : undefined;
      await stage.runS(90);
      stage.service.dials.answers = () => undefined;
      stage.change(1, { status: 'finished' });
      await stage.runS(300);
    },
    tells: ['1: running', '1: running -> finished', 'Project Discovered: other-pond-12345678'],
  },
  {
    name: 'an operation that vanishes from the list and answers 500 by itself is watched on',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      stage.service.dials.answers = ({ path }) => {
        if (onList(path)) return { status: 200, body: { operations: [] } };
        return READ_ONE.test(`GET ${path}`) ? { status: 500 } : undefined;
      };
      await stage.runS(300);
      stage.service.dials.answers = () => undefined;
      stage.change(1, { status: 'finished' });
      await stage.runS(300);
    },
    tells: ['1: running', '1: running -> finished'],
    crashes: false, // A list that shows nothing hides the operation from a process that begins later.
  },
  {
    name: 'an operation that vanished, and is on a page again before a minute has passed, is watched on',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      const row = stage.service.rows()[0];
      stage.service.remove(idOf(1));
      await stage.runS(30);
      stage.service.put(row as Row);
      await stage.runS(30);
      stage.service.remove(idOf(1));
      await stage.runS(25);
      stage.service.put({ ...(row as Row), status: 'finished', updated_at: timeOf(stage.nowMs()) });
      await stage.runS(120);
    },
    tells: ['1: running', '1: running -> finished'],
  },
  {
    name: 'a vanished operation that is there again is told with its next state, and its chain goes on',
    async script(stage) {
      stage.begin(1);
      await stage.runS(20);
      const row = stage.service.rows()[0];
      stage.service.remove(idOf(1));
      await stage.runS(400);
      stage.service.put({ ...(row as Row), status: 'finished', updated_at: timeOf(stage.nowMs()) });
      await stage.runS(180);
    },
    tells: ['1: running', 'Operation Watch Ended: 1 vanished', '1: running -> finished'],
    crashes: false, // The minute of 404s begins anew in a process that begins.
  },
  {
    name: 'a hundred failed operations behind the list cost few requests',
    async script(stage) {
      for (let number = 1; number <= 100; number++)
        stage.begin(number, { status: 'failed', failures_count: 1 });
      await stage.runS(60);
      past(stage, 1_100, 101, 1);
      await stage.runS(300);
      const before = stage.requests(READ_ONE);
      await stage.runS(600);
      expect(stage.requests(READ_ONE) - before).toBeLessThanOrEqual(420);
    },
    crashes: false, // A process that begins reads each of them once.
  },
  {
    name: 'thirty days without a retry end the watch also of an operation that the list still shows',
    async script(stage) {
      stage.begin(1, { status: 'failed', failures_count: 1 });
      await stage.runS(30);
      for (let day = 0; day < 31; day++) {
        await stage.rest(DAY_MS);
        await stage.runS(20);
      }
      await stage.runS(60);
    },
    tells: ['1: failed, failures 1', 'Operation Watch Ended: 1 not_retried'],
  },
  {
    name: 'an operation that moves in the minute in which its watch would end is told as it moves',
    async script(stage) {
      stage.begin(1, { status: 'failed', failures_count: 1 });
      await stage.runS(30);
      await stage.rest(30 * DAY_MS);
      stage.change(1, { status: 'finished' });
      await stage.runS(60);
    },
    tells: ['1: failed, failures 1', '1: failed -> finished'],
  },
];

const NO_ORDER: readonly Scenario[] = [
  {
    name: 'a list that is oldest first loses nothing, and a process that begins tells nothing of it again',
    async script(stage) {
      past(stage, 30);
      listBy(stage, oldestFirst, 100);
      await stage.runS(60);
      stage.restart();
      past(stage, 5, 31);
      await stage.runS(120);
    },
    tells: finished(35),
    also: ({ copies }) =>
      expect(copies().filter(({ type }) => type.startsWith('Operation'))).toHaveLength(35),
  },
  {
    name: 'what appears at the end of a list in no order is told',
    async script(stage) {
      past(stage, 120);
      listBy(stage, byId, 20);
      await stage.runS(120);
      stage.begin(900, { status: 'finished' });
      await stage.runS(120);
    },
    tells: [...finished(120), '900: finished'],
  },
  {
    name: 'an open operation anywhere in a list in no order is told to its end',
    async script(stage) {
      past(stage, 60);
      stage.begin(30);
      listBy(stage, byId, 25);
      await stage.runS(60);
      stage.change(30, { status: 'failed', failures_count: 1 });
      await stage.runS(40);
      stage.change(30, { status: 'finished' });
      await stage.runS(60);
    },
    also: ({ events }) =>
      expect(
        events('Operation State Changed')
          .filter(({ detail }) => detail.operation_id === idOf(30))
          .map(({ detail }) => detail.status),
      ).toEqual(['running', 'failed', 'finished']),
  },
  {
    name: 'a list whose order comes back after hours loses nothing and tells nothing twice',
    async script(stage) {
      past(stage, 40);
      listBy(stage, byId, 15);
      await stage.runS(60);
      await stage.rest(3 * HOUR_MS);
      past(stage, 10, 41);
      await stage.runS(60);
      stage.service.dials.answers = () => undefined;
      past(stage, 10, 51);
      await stage.runS(120);
    },
    tells: finished(60),
  },
];

export const WALKING: readonly Scenario[] = [...WALKS, ...SWEEPS, ...BESIDE_THE_LIST, ...NO_ORDER];
