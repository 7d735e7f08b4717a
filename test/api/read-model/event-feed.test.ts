import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { FeedEvent, FeedFilter } from '../../../functions/api/read-model/event-feed.ts';
import {
  createEventFeed,
  ITEMS_PER_QUERY,
  QUERIES_MAX,
  TOLD_MAX,
} from '../../../functions/api/read-model/event-feed.ts';
import { decodeCursor, encodeCursor } from '../../../functions/api/read-model/list-page.ts';
import type { JournalRecord } from '../../../shared/records/journal-record.ts';
import { decideNextRecord, type OperationRecord } from '../../../shared/records/operation-record.ts';
import { decideDiscovery } from '../../../shared/records/project-record.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { operationKey } from '../../../shared/store/keys.ts';
import type { UnreadableItem } from '../../../shared/store/unreadable.ts';
import { aContext, anOperation, NOON_MS } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';

const PROJECT_ID = anOperation().project_id;
const SECOND_MS = 1_000;

/** Returns the content of a cursor, which its callers never look into. */
const inside = (cursor: string) =>
  decodeCursor(
    z.looseObject({
      since: z.string().optional(),
      floor: z.string().optional(),
      told: z.array(z.string()).optional(),
    }),
    cursor,
  );

function setUp() {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const table = createMemoryTable();
  const store = createBridgeStore(table, 'main', clock);
  const unreadable: UnreadableItem[] = [];
  const feed = createEventFeed(table, createMemoryIndexes(table), 'main', {
    clock,
    noteUnreadable: (item) => void unreadable.push(item),
  });
  const at = (atMs: number) => ({ ...aContext(), nowMs: atMs });
  let readItemCount = 0;
  const getMany = table.getMany.bind(table);
  table.getMany = async (keys) => {
    readItemCount += keys.length;
    return getMany(keys);
  };
  return {
    feed,
    readItemCount: () => readItemCount,
    table,
    store,
    unreadable,
    nowMs: () => nowMs,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    /** Records one more state of an operation, as seen at this time. */
    move: async (
      id: string,
      status: string,
      atMs = nowMs,
      fields: Parameters<typeof anOperation>[0] = {},
    ) => {
      const recorded = await store.readOperation(fields.project_id ?? PROJECT_ID, id);
      const next = decideNextRecord(recorded, anOperation({ id, status, ...fields }), at(atMs));
      if (next === undefined) throw new Error('Nothing changed');
      await store.record(next, recorded?.revision);
      return next;
    },
    record: (record: JournalRecord) => store.record(record, undefined),
    /** Resolves to every event of the feed from this cursor on, and to where the feed stands then. */
    readOn: async (cursor: string, limit?: number) => {
      const events: FeedEvent[] = [];
      let place = cursor;
      for (let page = 0; page < 500; page++) {
        const read = await feed.since(place, limit);
        events.push(...read.events);
        place = read.cursor;
        if (!read.hasMore) return { events, cursor: place };
      }
      throw new Error('The feed does not end');
    },
  };
}

const namesOf = (events: readonly FeedEvent[]) =>
  events.map(({ detail }) => [detail['operation_id'], detail['status']].join(' '));

describe('a feed from the beginning', () => {
  test('gives every event that is remembered, oldest first, as it is on the bus', async () => {
    const { feed, move, store, pass } = setUp();
    const first = await move('a', 'scheduling');
    await store.acknowledge(first, { through: 1, derived: 1 });
    pass(SECOND_MS);
    await move('b', 'running');
    pass(SECOND_MS);
    await move('a', 'finished');

    const { events, hasMore } = await feed.since(feed.start('beginning'));

    expect(namesOf(events)).toEqual(['a scheduling', 'b running', 'a finished']);
    expect(events.map(({ published }) => published)).toEqual([true, false, false]);
    expect(events[0]).toMatchObject({
      id: first.entries[0]?.id,
      detail_type: 'Operation State Changed',
      source: 'operations-bridge',
      time: '2026-01-15T12:00:00.000Z',
      detail: { id: first.entries[0]?.id, project_id: PROJECT_ID, sequence: 1 },
    });
    expect(hasMore).toBe(false);
  });

  test('puts events of one moment into the order of their sequence', async () => {
    const { feed, move } = setUp();
    for (const status of ['scheduling', 'running', 'cancelling', 'cancelled']) await move('a', status);

    const { events } = await feed.since(feed.start('beginning'));

    expect(events.map(({ detail }) => detail['sequence'])).toEqual([1, 2, 3, 4]);
  });

  test('gives nothing twice to a reader who reads on', async () => {
    const { move, readOn, feed } = setUp();
    await move('a', 'running');
    const { cursor } = await readOn(feed.start('beginning'));

    expect((await readOn(cursor)).events).toEqual([]);
    await move('a', 'finished');
    expect(namesOf((await readOn(cursor)).events)).toEqual(['a finished']);
  });

  test('from a time gives what happened after it', async () => {
    const { feed, move, pass } = setUp();
    await move('a', 'running');
    pass(SECOND_MS);
    await move('b', 'running');

    const { events } = await feed.since(feed.start('2026-01-15T12:00:00Z'));

    expect(namesOf(events)).toEqual(['b running']);
  });

  test('in pages of one item gives the same, and says when there is more', async () => {
    const { feed, move, readOn, pass } = setUp();
    for (const id of ['a', 'b', 'c']) {
      await move(id, 'running');
      pass(SECOND_MS);
    }
    const page = await feed.since(feed.start('beginning'), 1);
    expect([namesOf(page.events), page.hasMore]).toEqual([['a running'], true]);

    expect(namesOf((await readOn(page.cursor, 1)).events)).toEqual(['b running', 'c running']);
  });

  test('takes a hundred items a page when no limit is given', async () => {
    const { feed, move } = setUp();
    for (let place = 0; place < ITEMS_PER_QUERY + 1; place++) await move(`${place}`, 'running');

    const { events, hasMore } = await feed.since(feed.start('beginning'));

    expect([events.length, hasMore]).toEqual([ITEMS_PER_QUERY, true]);
  });

  test('of an account in which nothing has happened gives nothing, and a cursor that goes on', async () => {
    const { feed, move, readOn, pass } = setUp();
    const { events, cursor } = await readOn(feed.start('beginning'));
    expect(events).toEqual([]);
    pass(3_600_000);
    await move('a', 'running');

    expect(namesOf((await readOn(cursor)).events)).toEqual(['a running']);
  });

  test('passes over an item that cannot be read, and notes it', async () => {
    const { feed, move, table, unreadable } = setUp();
    await move('a', 'running');
    await move('b', 'running');
    const key = operationKey('main', PROJECT_ID, 'a');
    table.sync.update({ key, set: { status: 17 } });

    const { events } = await feed.since(feed.start('beginning'));

    expect(namesOf(events)).toEqual(['b running']);
    expect(unreadable).toMatchObject([{ key }]);
  });
});

describe('a feed from now on', () => {
  test('gives nothing of before, also of an item that moves again', async () => {
    const { feed, move, readOn, pass } = setUp();
    await move('a', 'running');
    await move('b', 'running');
    pass(1);
    const cursor = feed.start('now');
    pass(SECOND_MS);
    await move('a', 'finished');

    expect(namesOf((await readOn(cursor)).events)).toEqual(['a finished']);
  });
});

describe('a feed that goes on', () => {
  test('reads the last half minute again, so that nothing is lost that became visible late', async () => {
    const { feed, move, readOn, pass, nowMs } = setUp();
    await move('a', 'running');
    let { cursor } = await readOn(feed.start('beginning'));
    for (let count = 0; count < 6; count++) {
      pass(20 * SECOND_MS);
      await move('b', count % 2 === 0 ? 'running' : 'failed');
      ({ cursor } = await readOn(cursor));
    }
    await move('late', 'running', nowMs() - 25 * SECOND_MS);

    expect(namesOf((await readOn(cursor)).events)).toEqual(['late running']);
  });

  test('moves on once the last step is ten seconds old, and keeps the place before as its floor', async () => {
    const { feed, move, readOn, pass } = setUp();
    await move('a', 'running');
    const start = feed.start('beginning');
    pass(9_999);
    const early = await readOn(start);
    expect(inside(early.cursor)).toMatchObject({ since: '', floor: '' });
    pass(1);
    const moved = await readOn(early.cursor);

    expect(inside(moved.cursor)).toMatchObject({ since: '2026-01-15T11:59:30.000Z', floor: '' });
    pass(60 * SECOND_MS);
    await move('a', 'finished');
    pass(10 * SECOND_MS);
    const further = await readOn(moved.cursor);
    expect(inside(further.cursor)).toMatchObject({
      since: '2026-01-15T12:00:40.000Z',
      floor: '2026-01-15T11:59:30.000Z',
    });
  });

  test('reads no item again that moved more than half a minute before', async () => {
    const { feed, move, readOn, pass, readItemCount } = setUp();
    const start = feed.start('beginning');
    await move('a', 'running');
    pass(60 * SECOND_MS);
    await move('b', 'running');
    pass(10 * SECOND_MS);
    const { cursor } = await readOn(start);
    const before = readItemCount();

    await readOn(cursor);

    expect(readItemCount() - before).toBe(1);
  });

  test('never moves back', async () => {
    const { feed, readOn, pass, move, nowMs } = setUp();
    const cursor = feed.start('now');
    await move('a', 'running', nowMs() + 1);
    pass(20 * SECOND_MS);

    const read = await readOn(cursor);

    expect(inside(read.cursor)).toMatchObject({ since: inside(cursor)['since'] });
  });

  test('passes nothing by that was written behind the place where a long round is reading', async () => {
    const { feed, move, readOn, pass, nowMs } = setUp();
    await move('a', 'running');
    pass(SECOND_MS);
    await move('b', 'running');
    const behindMs = nowMs() - SECOND_MS - 1;
    const first = await feed.since(feed.start('beginning'), 1);
    expect(first.hasMore).toBe(true);
    // The round goes on for minutes, while others write behind it and at its end.
    pass(5 * 60 * SECOND_MS);
    await move('behind', 'running', behindMs);
    await move('z', 'running');
    const read = await readOn(first.cursor);
    pass(20 * SECOND_MS);

    const next = await readOn(read.cursor);

    expect(namesOf([...first.events, ...read.events, ...next.events])).toContain('behind running');
  });

  test('remembers a bounded number of events that it gave out, and repeats events beyond it instead of losing any', async () => {
    const { feed, move, readOn, pass } = setUp();
    const count = TOLD_MAX + 30;
    for (let place = 0; place < count; place++) await move(`${place}`, 'running');
    const { events, cursor } = await readOn(feed.start('beginning'));
    expect(events).toHaveLength(count);
    expect(inside(cursor).told).toHaveLength(TOLD_MAX);
    pass(SECOND_MS);

    expect((await readOn(cursor)).events).toHaveLength(30);
  });

  test('stays a text of a few kilobytes', async () => {
    const { feed, move, readOn } = setUp();
    for (let place = 0; place < TOLD_MAX + 30; place++) await move(`${place}`, 'running');
    const { cursor } = await readOn(feed.start('beginning'));

    expect(cursor.length).toBeLessThan(6_000);
  });
});

describe('a cursor of the feed', () => {
  test.each([
    ['text', 'nonsense'],
    ['nothing', ''],
    [
      'one of another account',
      encodeCursor({ since: '', floor: '', advanced_at_ms: 0, told: [], start: { feed: 'other' } }),
    ],
    ['one with more in it', encodeCursor({ since: '', floor: '', advanced_at_ms: 0, told: [], more: 1 })],
    ['one with long times', encodeCursor({ since: '2'.repeat(31), floor: '', advanced_at_ms: 0, told: [] })],
    [
      'one with a long floor',
      encodeCursor({ since: '', floor: '2'.repeat(31), advanced_at_ms: 0, told: [] }),
    ],
    [
      'one with a long newest',
      encodeCursor({ since: '', floor: '', advanced_at_ms: 0, told: [], newest: '2'.repeat(31) }),
    ],
    ['one with long ids', encodeCursor({ since: '', floor: '', advanced_at_ms: 0, told: ['12345678901'] })],
    [
      'one with many ids',
      encodeCursor({
        since: '',
        floor: '',
        advanced_at_ms: 0,
        told: Array.from({ length: TOLD_MAX + 1 }, () => ''),
      }),
    ],
  ])('that is %s is refused', async (_what, cursor) => {
    const { feed } = setUp();

    await expect(feed.since(cursor)).rejects.toMatchObject({ code: 'cursor_invalid' });
  });

  test('of recent events that is not one is refused', async () => {
    const { feed } = setUp();

    await expect(feed.recent({ limit: 1, cursor: feed.start('now') })).rejects.toMatchObject({
      code: 'cursor_invalid',
    });
  });
});

describe('recent events', () => {
  test('come newest first, those of one moment in the order of their sequence from its end', async () => {
    const { feed, move, pass } = setUp();
    await move('a', 'scheduling');
    await move('a', 'running');
    pass(SECOND_MS);
    await move('b', 'running');

    const { items, next } = await feed.recent({ limit: 10 });

    expect(namesOf(items)).toEqual(['b running', 'a running', 'a scheduling']);
    expect(next).toBeUndefined();
  });

  test('come page by page, each item once', async () => {
    const { feed, move, pass } = setUp();
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await move(id, 'running');
      pass(SECOND_MS);
    }
    const first = await feed.recent({ limit: 2 });
    const second = await feed.recent({ limit: 2, cursor: first.next });
    const third = await feed.recent({ limit: 2, cursor: second.next });

    expect([first, second, third].map(({ items }) => namesOf(items))).toEqual([
      ['e running', 'd running'],
      ['c running', 'b running'],
      ['a running'],
    ]);
    expect(third.next).toBeUndefined();
  });

  test('that fit a filter are looked for in a few pages, and then the caller goes on', async () => {
    const { feed, move, pass } = setUp();
    await move('wanted', 'failed');
    for (let place = 0; place < QUERIES_MAX; place++) {
      pass(SECOND_MS);
      await move(`${place}`, 'running');
    }
    const filter = { status: 'failed' };
    const first = await feed.recent({ limit: 1, filter });
    expect([first.items, typeof first.next]).toEqual([[], 'string']);

    const second = await feed.recent({ limit: 1, filter, cursor: first.next });
    expect(namesOf(second.items)).toEqual(['wanted failed']);
  });

  test('end a page as soon as there are enough of them', async () => {
    const { feed, move, pass, readItemCount } = setUp();
    for (let place = 0; place < 4; place++) {
      await move(`${place}`, 'running');
      pass(SECOND_MS);
    }
    const { items } = await feed.recent({ limit: 2 });

    expect([items.length, readItemCount()]).toEqual([2, 2]);
  });

  test('are never asked for more than a hundred items at once', async () => {
    const { feed, move } = setUp();
    for (let place = 0; place < ITEMS_PER_QUERY + 5; place++) await move(`${place}`, 'running');
    const { items, next } = await feed.recent({ limit: 1_000 });

    expect([items.length, next]).toEqual([ITEMS_PER_QUERY + 5, undefined]);
  });
});

describe('recent events of a stretch of time', () => {
  const HOUR_MS = 3_600 * SECOND_MS;
  const at = (second: number) => new Date(NOON_MS + second * SECOND_MS).toISOString();
  const threeSeconds = async () => {
    const world = setUp();
    for (const id of ['a', 'b', 'c']) {
      await world.move(id, 'running');
      world.pass(SECOND_MS);
    }
    return world;
  };

  test.each([
    ['from its first moment on', { from: at(1) }, ['c running', 'b running']],
    ['without its end', { until: at(1) }, ['a running']],
    ['with a beginning and an end', { from: at(1), until: at(2) }, ['b running']],
    ['whose first moment is written without fractions', { from: '2026-01-15T12:00:02Z' }, ['c running']],
    [
      'in another zone',
      { from: '2026-01-15T13:00:01+01:00', until: '2026-01-15T13:00:02+01:00' },
      ['b running'],
    ],
  ])('are those %s', async (_what, range, names) => {
    const { feed } = await threeSeconds();

    expect(namesOf((await feed.recent({ limit: 10, ...range })).items)).toEqual(names);
  });

  test('are events of that time alone, also of items that have other events', async () => {
    const { feed, move, pass } = await threeSeconds();
    pass(SECOND_MS);
    await move('a', 'finished');

    expect(namesOf((await feed.recent({ limit: 10, from: at(2) })).items)).toEqual([
      'a finished',
      'c running',
    ]);
    expect(namesOf((await feed.recent({ limit: 10, until: at(1) })).items)).toEqual(['a running']);
  });

  test('cost nothing for items that have changed more than an hour after it', async () => {
    const { feed, move, pass, readItemCount } = await threeSeconds();
    pass(HOUR_MS);
    for (let place = 0; place < 4; place++) await move(`later ${place}`, 'running');

    const { items } = await feed.recent({ limit: 2, until: at(2) });

    expect(namesOf(items)).toEqual(['b running', 'a running']);
    expect(readItemCount()).toBe(3);
  });

  test('cost nothing for items that have not changed since its beginning', async () => {
    const { feed, readItemCount } = await threeSeconds();

    await feed.recent({ limit: 10, from: at(2) });

    expect(readItemCount()).toBe(1);
  });

  test('go on by cursor, and hold no item twice', async () => {
    const { feed } = await threeSeconds();
    const range = { limit: 1, until: at(2) };
    const first = await feed.recent(range);
    const second = await feed.recent({ ...range, cursor: first.next });

    expect([first, second].map(({ items }) => namesOf(items))).toEqual([['b running'], ['a running']]);
  });
});

describe('recent events with a text', () => {
  test.each([
    ['FINISHED', ['b finished']],
    ['finished', ['b finished']],
    ['state changed', ['b finished', 'a running']],
    ['nothing has this', []],
  ])('are those whose kind or detail has "%s", in any case', async (text, names) => {
    const { feed, move, pass } = setUp();
    await move('a', 'running');
    pass(SECOND_MS);
    await move('b', 'finished');

    expect(namesOf((await feed.recent({ limit: 10, text })).items)).toEqual(names);
  });
});

describe('a filter', () => {
  const discovered = decideDiscovery(undefined, {
    account_id: 'main',
    project_id: 'other-1',
    nowMs: NOON_MS,
    isNews: true,
  });

  test('of any kind leaves what it names', async () => {
    const { feed, move, record } = setUp();
    await move('a', 'failed', NOON_MS, { action: 'apply_config' });
    await move('b', 'running', NOON_MS, { action: 'start_compute', project_id: 'other-1' });
    if (discovered !== undefined) await record(discovered);
    const countOf = async (filter: FeedFilter) => (await feed.recent({ limit: 50, filter })).items.length;

    expect(await countOf({})).toBe(3);
    expect(await countOf({ project_id: 'other-1' })).toBe(2);
    expect(await countOf({ detail_type: 'Project Discovered' })).toBe(1);
    expect(await countOf({ status: 'failed' })).toBe(1);
    expect(await countOf({ action: 'start_compute' })).toBe(1);
    expect(await countOf({ project_id: 'other-1', detail_type: 'Operation State Changed' })).toBe(1);
    expect(await countOf({ status: 'failed', action: 'start_compute' })).toBe(0);
  });
});

test('a record of any version of an operation gives its entries, and an operation without any gives none', async () => {
  const { feed, store } = setUp();
  const silent = decideNextRecord(undefined, anOperation({ id: 'old', status: 'finished' }), {
    ...aContext(),
    history: { backfill: 'none' },
  }) as OperationRecord;
  await store.record(silent, undefined);

  expect((await feed.since(feed.start('beginning'))).events).toEqual([]);
});
