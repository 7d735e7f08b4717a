import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../../shared/core/records/operation.ts';
import { operationKey } from '../../../../shared/store/keys.ts';
import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';
import {
  aProject,
  atMs,
  type BOOT_AT,
  DAY_MS,
  endedRows,
  HOUR_MS,
  MINUTE_MS,
  PROJECT_ID,
} from '../project-under-test.ts';

const row = (id: string, atAgeMs: number, fields: Partial<Operation> = {}) =>
  anOperation({ id, created_at: atMs(NOON_MS - atAgeMs), updated_at: atMs(NOON_MS - atAgeMs), ...fields });

const publishedIds = (events: readonly Readonly<Record<string, unknown>>[]) =>
  events.map(({ operation_id }) => operation_id);

describe('the first walk of a project', () => {
  test('publishes what has happened since the account was first seen, and keeps the head of the list as its watermark', async () => {
    const { script, poll, events, stored } = aProject();
    script.rows = [
      row('new', MINUTE_MS, { status: 'finished' }),
      row('old', 2 * HOUR_MS, { status: 'finished' }),
    ];

    const report = await poll();

    expect(report).toMatchObject({ outcome: 'complete', failure: undefined, recordedCount: 1 });
    expect(publishedIds(events)).toEqual(['new']);
    expect(stored()).toMatchObject({ watermark: '2026-01-15T11:59:00.000000000Z' });
  });

  test('publishes an operation from before that is still open, as history', async () => {
    const { script, poll, events } = aProject();
    script.rows = [row('open', 2 * HOUR_MS)];

    await poll();

    expect(events).toMatchObject([{ operation_id: 'open', observed_by: 'backfill' }]);
  });

  test.each([
    ['all', ['shallow', 'deep']],
    ['open', []],
    ['none', []],
  ] as const)(
    'with backfill %s publishes %j among ended operations of any age',
    async (backfill, expected) => {
      const { script, poll, events } = aProject({ backfill, backfillDepthMs: 3 * DAY_MS });
      script.rows = [
        row('shallow', 2 * DAY_MS, { status: 'finished' }),
        row('deep', 400 * DAY_MS, { status: 'finished' }),
      ];
      script.pageRowsMax = 1;

      await poll();
      await poll();
      await poll();

      expect(new Set(publishedIds(events))).toEqual(new Set(expected));
      expect(events).toHaveLength(expected.length);
    },
  );

  test('goes no deeper below its head than its setting allows, unless all history is wanted', async () => {
    const { script, poll, calls } = aProject({ backfillDepthMs: DAY_MS });
    script.rows = endedRows(40, { newestMs: NOON_MS - 2 * HOUR_MS, stepMs: 6 * HOUR_MS });
    script.pageRowsMax = 3;

    const { outcome } = await poll();

    expect(outcome).toBe('complete');
    expect(calls.map(({ cursor }) => cursor)).toEqual([undefined, 'row-2']);
  });

  test('goes as deep as the news of a project that could not be read for long', async () => {
    const { script, poll, events } = aProject({ backfillDepthMs: DAY_MS });
    script.rows = endedRows(20, { newestMs: NOON_MS - MINUTE_MS, stepMs: DAY_MS });
    script.pageRowsMax = 5;

    await poll({ bootAt: '2026-01-01T00:00:00.000000000Z' as typeof BOOT_AT });

    expect(publishedIds(events)).toHaveLength(15);
  });

  test('publishes the events of a page in the order in which the operations began', async () => {
    const { script, poll, events } = aProject();
    script.rows = endedRows(4, { newestMs: NOON_MS - MINUTE_MS });

    await poll();

    expect(publishedIds(events)).toEqual(['row-3', 'row-2', 'row-1', 'row-0']);
  });

  test('records a row that stands twice on a page once, as the upper one says', async () => {
    const { script, poll, events } = aProject();
    const below = row('below', 2 * MINUTE_MS, { status: 'finished' });
    script.rows = [row('twice', MINUTE_MS, { status: 'finished' }), row('twice', MINUTE_MS), below];

    await poll();

    expect(publishedIds(events)).toEqual(['below', 'twice']);
    expect(events[1]).toMatchObject({ status: 'finished', sequence: 1 });
  });
});

describe('a later walk', () => {
  async function afterOne(rows: Operation[], fields: Parameters<typeof aProject>[0] = {}) {
    const project = aProject(fields);
    project.script.rows = rows;
    await project.poll();
    project.takeCalls();
    project.takeEvents();
    return project;
  }

  test('ends below the watermark, an overlap deep', async () => {
    const rows = endedRows(20, { newestMs: NOON_MS - MINUTE_MS, stepMs: MINUTE_MS });
    const { poll, takeCalls, script } = await afterOne(rows);
    script.pageRowsMax = 5;

    const { outcome } = await poll();

    expect(outcome).toBe('complete');
    expect(takeCalls()).toEqual(['list 5', 'list 10', 'list row-4 10']);
  });

  test('finds what became visible late within the overlap, and says nothing of lateness', async () => {
    const rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS, stepMs: MINUTE_MS });
    const { poll, script, events } = await afterOne(rows);
    script.rows = [...rows, row('late', 4 * MINUTE_MS, { status: 'finished' })];

    await poll();

    expect(events).toMatchObject([{ operation_id: 'late', observed_by: 'poll' }]);
    expect(events[0]).not.toHaveProperty('late');
  });

  test('of an operation that became visible behind the overlap says that it is late', async () => {
    const rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
    const { poll, script, events } = await afterOne(rows, { sweepIntervalMs: 0 });
    script.rows = [...rows, row('late', 20 * MINUTE_MS, { status: 'finished' })];

    await poll();

    expect(events).toMatchObject([{ operation_id: 'late', observed_by: 'sweep', late: true }]);
  });

  test('asks neither the table nor the upstream about rows that it remembers as ended', async () => {
    const rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    const { poll, table, takeCalls } = await afterOne(rows);
    const asked: number[] = [];
    const getMany = table.getMany.bind(table);
    table.getMany = async (keys) => {
      asked.push(keys.length);
      return getMany(keys);
    };

    await poll();

    expect(asked.filter((count) => count > 0)).toEqual([]);
    expect(takeCalls().every((call) => call.startsWith('list'))).toBe(true);
  });

  test('in a new process reads the records of the page once, and nothing is published again', async () => {
    const rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    const { poll, restart, takeCalls, events } = await afterOne(rows);
    restart();

    const { recordedCount } = await poll();

    expect(recordedCount).toBe(0);
    expect(events).toEqual([]);
    expect(takeCalls().every((call) => call.startsWith('list'))).toBe(true);
  });

  test('reads an operation once more before it believes a row over a record that it read after the row', async () => {
    const rows = [row('moved', MINUTE_MS, { status: 'finished' })];
    const { poll, pass, script, restart, takeCalls, events } = await afterOne(rows);
    restart();
    pass(2 * MINUTE_MS);
    script.rows = [row('moved', MINUTE_MS, { status: 'running' })];

    await poll();

    expect(takeCalls()).toContain('get moved');
    expect(events).toMatchObject([{ operation_id: 'moved', previous_status: 'finished', status: 'running' }]);
  });

  test('keeps its watermark where it is when that second reading fails', async () => {
    const rows = [row('moved', MINUTE_MS, { status: 'finished' })];
    const { poll, pass, script, restart, events, stored } = await afterOne(rows);
    restart();
    pass(2 * MINUTE_MS);
    script.rows = [row('new', 1_000), row('moved', MINUTE_MS, { status: 'running' })];
    script.fails = ({ name }) => (name === 'get' ? 'unavailable' : undefined);

    const report = await poll();

    expect(report).toMatchObject({ outcome: 'interrupted', failure: undefined });
    expect(stored()).toMatchObject({ watermark: '2026-01-15T11:59:00.000000000Z' });
    script.fails = () => undefined;
    await poll();
    expect(publishedIds(events)).toEqual(['new', 'moved']);
    expect(stored()).toMatchObject({ watermark: '2026-01-15T11:59:59.000000000Z' });
  });

  test('does not hide a mistake behind that second reading', async () => {
    const rows = [row('moved', MINUTE_MS, { status: 'finished' })];
    const { poll, script, restart, deps } = await afterOne(rows);
    restart();
    script.rows = [row('moved', MINUTE_MS)];
    deps.upstream.getOperation = async () => {
      throw new TypeError('undefined is not a function');
    };

    await expect(poll()).rejects.toThrow(TypeError);
  });

  test('passes over a record that this version cannot read, and is complete', async () => {
    const rows = [row('strange', MINUTE_MS, { status: 'finished' })];
    const { poll, script, restart, table, stored } = await afterOne(rows);
    restart();
    const key = operationKey('main', PROJECT_ID, 'strange');
    table.sync.update({ key, set: { status: ['of a newer version'] } });
    const before = table.sync.peek(key);
    script.rows = [row('new', 1_000, { status: 'finished' }), row('strange', MINUTE_MS)];

    expect(await poll()).toMatchObject({ outcome: 'complete', recordedCount: 1 });
    expect(table.sync.peek(key)).toEqual(before);
    expect(stored()).toMatchObject({ watermark: '2026-01-15T11:59:59.000000000Z' });
  });

  test('passes over a record that becomes unreadable between two readings', async () => {
    const rows = [row('strange', MINUTE_MS, { status: 'finished' })];
    const { poll, script, restart, table, deps } = await afterOne(rows);
    restart();
    const readOperations = deps.store.readOperations.bind(deps.store);
    deps.store.readOperations = async (...args) => {
      const read = await readOperations(...args);
      table.sync.update({ key: operationKey('main', PROJECT_ID, 'strange'), set: { status: 17 } });
      return read;
    };
    script.rows = [row('strange', MINUTE_MS)];

    expect(await poll()).toMatchObject({ outcome: 'complete', recordedCount: 0 });
  });

  test('records a change of an operation that it watches without reading it again', async () => {
    const { poll, script, takeCalls, events } = await afterOne([row('open', MINUTE_MS)]);
    script.rows = [row('open', MINUTE_MS, { status: 'finished' })];

    await poll();

    expect(takeCalls().filter((call) => call.startsWith('get'))).toEqual([]);
    expect(events).toMatchObject([{ operation_id: 'open', previous_status: 'running', status: 'finished' }]);
  });

  test('of a row without a readable time records it all the same', async () => {
    const { poll, script, events } = await afterOne(endedRows(2, { newestMs: NOON_MS - MINUTE_MS }));
    script.rows = [row('untimed', 0, { created_at: 'soon', status: 'finished' }), ...script.rows];

    await poll();

    expect(publishedIds(events)).toEqual(['untimed']);
  });
});

describe('what the table may have forgotten', () => {
  const oldRow = (ageMs: number) => row('old', ageMs, { status: 'finished' });

  test('is no news a month later, which is logged once, and is remembered', async () => {
    const project = aProject({ sweepIntervalMs: 1_000 * DAY_MS, backfill: 'all' });
    const { script, poll, pass, expireAll } = {
      ...project,
      expireAll: () => project.table.sync.expire(Infinity),
    };
    script.rows = [oldRow(MINUTE_MS)];
    await poll();
    project.takeEvents();
    pass(31 * DAY_MS);
    expireAll();
    project.restart();

    await poll();
    await poll();

    expect(project.events).toEqual([]);
    expect(project.logs).toEqual([{ level: 'warn', event: 'rows.forgotten', project_id: PROJECT_ID }]);
  });

  test('is news while it is younger than thirty days, by the earlier one of two clocks', async () => {
    const { script, poll, pass, put, nowMs, events } = aProject();
    put({ watermark: '2026-01-15T11:59:00.000000000Z' });
    script.rows = [oldRow(MINUTE_MS)];
    pass(31 * DAY_MS);
    script.serverDateMs = () => nowMs() - 2 * DAY_MS;

    await poll();

    expect(publishedIds(events)).toEqual(['old']);
  });

  test('is judged by our own clock when the upstream does not say what time it is', async () => {
    const { script, poll, pass, put, events } = aProject();
    put({ watermark: '2026-01-15T11:59:00.000000000Z' });
    script.rows = [oldRow(MINUTE_MS)];
    pass(31 * DAY_MS);
    script.serverDateMs = () => undefined;

    await poll();

    expect(events).toEqual([]);
  });

  test('does not hold what is newer than everything that was ever read', async () => {
    const { script, poll, pass, put, events } = aProject();
    put({ watermark: '2026-01-01T00:00:00.000000000Z' });
    script.rows = [oldRow(MINUTE_MS)];
    pass(60 * DAY_MS);

    await poll();

    expect(publishedIds(events)).toEqual(['old']);
  });
});

describe('a walk that cannot be finished now', () => {
  const many = () => endedRows(100, { newestMs: NOON_MS - MINUTE_MS });

  test('leaves a resume point, and the next poll goes on there after it has read what is new', async () => {
    const { script, poll, stored, takeCalls } = aProject();
    script.rows = many();

    expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: undefined });

    expect(stored()).toMatchObject({
      resume: { head: '2026-01-15T11:59:00.000000000Z', cursor: 'row-29' },
    });
    expect(stored()).not.toHaveProperty('watermark');
    takeCalls();
    script.rows = [row('new', 1_000, { status: 'finished' }), ...script.rows];
    await poll();
    expect(takeCalls()).toEqual(['list 5', 'list row-29 10', 'list row-39 10', 'list row-49 10']);
  });

  test('is reported with the reason when the upstream fails, and what was read before is kept', async () => {
    const { script, poll, events, stored } = aProject();
    script.rows = many();
    script.fails = ({ cursor }) => (cursor === 'row-19' ? 'unavailable' : undefined);

    expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: 'unavailable' });

    expect(publishedIds(events)).toHaveLength(20);
    expect(stored()).toMatchObject({ resume: { cursor: 'row-19' } });
  });

  test('hides no mistake', async () => {
    const { poll, deps } = aProject();
    deps.upstream.listOperations = async () => {
      throw new TypeError('undefined is not a function');
    };

    await expect(poll()).rejects.toThrow(TypeError);
  });

  test('finds what became visible late below the watermark, however many polls it takes', async () => {
    const { script, poll, takeEvents } = aProject();
    const old = endedRows(3, { newestMs: NOON_MS - 10 * MINUTE_MS, stepMs: MINUTE_MS, name: 'old' });
    script.rows = old;
    await poll();
    takeEvents();
    const news = endedRows(40, { newestMs: NOON_MS, name: 'new' });
    script.rows = [...news, ...old, row('late', 14 * MINUTE_MS, { status: 'finished' })];
    expect(await poll()).toMatchObject({ outcome: 'interrupted' });
    expect(await poll()).toMatchObject({ outcome: 'complete' });

    expect(publishedIds(takeEvents())).toEqual(expect.arrayContaining(['late']));
  });

  const withAStoredCursor = () => {
    const project = aProject();
    project.put({ resume: { head: '2026-01-15T11:59:00.000000000Z', cursor: 'row-29' } });
    project.script.rows = many();
    return project;
  };

  test('begins anew when the upstream refuses its cursor', async () => {
    const { script, poll, takeCalls, stored } = withAStoredCursor();
    script.fails = ({ cursor }) => (cursor === 'row-29' ? 'rejected' : undefined);

    await poll();

    expect(takeCalls()).toEqual([
      'list 5',
      'list row-29 10',
      'list 5',
      'list 10',
      'list row-9 10',
      'list row-19 10',
    ]);
    expect(stored()).toMatchObject({ resume: { cursor: 'row-29' } });
  });

  test.each(['unavailable', 'not_found', 'timeout', 'rate_limited', 'cancelled', 'unauthorized'] as const)(
    'keeps its resume point when the page there answers %s',
    async (kind) => {
      const { script, poll, takeCalls, stored } = withAStoredCursor();
      script.fails = ({ cursor }) => (cursor === 'row-29' ? kind : undefined);

      expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: kind });

      expect(takeCalls()).toEqual(['list 5', 'list row-29 10']);
      expect(stored()).toMatchObject({ resume: { cursor: 'row-29' } });
    },
  );

  test('fails when another cursor than the stored one is refused', async () => {
    const { script, poll } = withAStoredCursor();
    script.fails = ({ cursor }) => (cursor === 'row-39' ? 'rejected' : undefined);

    expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: 'rejected' });
  });

  test('fails when the head of the list is refused, and nothing is stored', async () => {
    const { script, poll, takeCalls } = aProject();
    script.fails = () => 'rejected';

    expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: 'rejected' });
    expect(takeCalls()).toEqual(['list 5']);
  });
});

describe('requests of a walk', () => {
  test('carry the signal of the deadline, each of them, and the permit for the first request', async () => {
    const { script, poll, calls } = aProject();
    script.rows = endedRows(30, { newestMs: NOON_MS - MINUTE_MS });
    const { signal } = new AbortController();
    const permit: Permit = { use: () => true };

    await poll({ signal, permit });

    const lists = calls.filter(({ name }) => name === 'list');
    expect(lists.length).toBeGreaterThan(2);
    expect(lists.map(({ options }) => options)).toEqual(lists.map(() => ({ signal, permit })));
  });

  test('carry no signal when there is no deadline', async () => {
    const { poll, calls } = aProject();

    await poll();

    expect(calls.map(({ options }) => Object.keys(options ?? {}))).toEqual([['permit']]);
  });

  test('for a second reading carry it, too', async () => {
    const { script, poll, restart, calls } = aProject();
    script.rows = [row('moved', MINUTE_MS, { status: 'finished' })];
    await poll();
    restart();
    script.rows = [row('moved', MINUTE_MS)];
    const { signal } = new AbortController();

    await poll({ signal });

    expect(calls.find(({ name }) => name === 'get')?.options).toEqual({ signal });
  });

  test('record nothing more once the deadline has passed: the page does not count as read', async () => {
    const { script, poll, events, stored } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    const stop = new AbortController();
    script.fails = () => {
      stop.abort();
      return undefined;
    };

    expect(await poll({ signal: stop.signal })).toMatchObject({ outcome: 'interrupted', recordedCount: 0 });
    expect(events).toEqual([]);
    expect(stored()).toBeUndefined();
  });

  test('that are cut in the middle of a page of open operations leave the watermark', async () => {
    const project = aProject();
    const { script, poll, stored } = project;
    script.rows = [row('a', MINUTE_MS)];
    await poll();
    const stop = new AbortController();
    script.rows = [row('new', 1_000), row('a', MINUTE_MS, { status: 'finished' })];
    script.fails = () => {
      stop.abort();
      return undefined;
    };

    expect(await poll({ signal: stop.signal })).toMatchObject({ outcome: 'interrupted', recordedCount: 0 });
    expect(stored()).toMatchObject({ watermark: '2026-01-15T11:59:00.000000000Z' });
  });

  test('count malformed rows, and none when there are none', async () => {
    const { script, poll, measures } = aProject();
    script.rows = [row('a', MINUTE_MS)];
    await poll();
    expect(measures.map(([metric]) => metric)).not.toContain('MalformedRows');
    script.malformedRowCount = 2;

    await poll();

    expect(measures).toContainEqual(['MalformedRows', 2]);
  });
});

describe('the end of a list', () => {
  test('is asked for until nothing can appear behind it any more, and is kept with the watermark', async () => {
    const { script, poll, pass, stored, takeCalls, restart } = aProject();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    expect(takeCalls()).toEqual(['list 5', 'list row-1 10']);
    pass(10 * MINUTE_MS);
    await poll();
    expect(takeCalls()).toEqual(['list 5', 'list row-1 10']);

    await poll();
    expect(takeCalls()).toEqual(['list 5']);
    script.rows = [row('new', 0, { status: 'finished' }), ...script.rows];
    await poll();
    expect(stored()).toMatchObject({ list_end: 'row-1' });
    takeCalls();
    restart();
    await poll();
    expect(takeCalls()).toEqual(['list 5']);
  });

  test('that one of the two clocks does not prove is asked for again', async () => {
    const { script, poll, pass, takeCalls, nowMs } = aProject();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
    pass(10 * MINUTE_MS);
    script.serverDateMs = () => nowMs() - 10 * MINUTE_MS;
    await poll();
    takeCalls();

    await poll();

    expect(takeCalls()).toEqual(['list 5', 'list row-1 10']);
  });

  test('is not proven by our clock when answers show no time and every row is new', async () => {
    const { script, poll, pass, takeCalls } = aProject();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS, stepMs: 1_000 });
    script.serverDateMs = () => undefined;
    pass(23 * HOUR_MS);
    await poll();
    takeCalls();

    await poll();

    expect(takeCalls()).toEqual(['list 5', 'list row-1 10']);
  });

  test('is proven by the newest row when answers show no time', async () => {
    const { script, poll, pass, memory } = aProject();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS, stepMs: HOUR_MS });
    script.serverDateMs = () => undefined;
    pass(23 * HOUR_MS);

    await poll();

    expect(memory().listEnd).toEqual({ cursor: 'row-1', isProven: true });
  });

  test('that moves is learned anew', async () => {
    const { script, poll, pass, memory } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    pass(10 * MINUTE_MS);
    await poll();
    expect(memory().listEnd).toEqual({ cursor: 'row-2', isProven: true });
    script.rows = script.rows.slice(0, 2);
    await poll();

    expect(memory().listEnd).toEqual({ cursor: 'row-1', isProven: true });
  });

  test('stays as it was known while walks end at their bound', async () => {
    const { script, poll, pass, memory } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - HOUR_MS });
    await poll();
    const known = memory().listEnd;
    pass(HOUR_MS);
    script.rows = [
      ...endedRows(6, { newestMs: NOON_MS + HOUR_MS, stepMs: 2 * MINUTE_MS, name: 'new' }),
      ...script.rows,
    ];
    await poll();

    expect(known).toEqual({ cursor: 'row-2', isProven: true });
    expect(memory().listEnd).toBe(known);
  });
});

describe('a list that is not newest first', () => {
  const ascending = (count: number) => endedRows(count, { newestMs: NOON_MS - MINUTE_MS }).toReversed();

  test('is read to its end, earns no watermark, and is logged once', async () => {
    const { script, poll, stored, events, logs } = aProject();
    script.rows = ascending(12);

    for (let count = 0; count < 6; count++) await poll();

    expect(publishedIds(events)).toHaveLength(12);
    expect(stored()).toMatchObject({ is_unordered: true });
    expect(stored()).not.toHaveProperty('watermark');
    expect(logs.filter(({ event }) => event === 'list.unordered')).toHaveLength(1);
  });

  test('has no end behind which nothing can appear', async () => {
    const { script, poll, memory, events } = aProject();
    script.rows = ascending(8);
    for (let count = 0; count < 4; count++) await poll();
    expect(memory().listEnd).toBeUndefined();
    script.rows = [...script.rows, row('appended', 1_000, { status: 'finished' })];

    for (let count = 0; count < 4; count++) await poll();

    expect(publishedIds(events)).toContain('appended');
  });
});

describe('the size of the first page', () => {
  test('grows so that it shows open operations behind the usual one', async () => {
    const { script, poll, takeCalls } = aProject();
    const open = row('open', 6 * MINUTE_MS);
    script.rows = [...endedRows(5, { newestMs: NOON_MS - MINUTE_MS, stepMs: MINUTE_MS }), open];
    await poll();
    takeCalls();

    await poll();

    expect(takeCalls()[0]).toBe('list 10');
  });
});
