/** Reads the events of a range from the in-memory table, over its indexes. */

import { expect, test } from 'vitest';
import { readRange } from '../../functions/poller/repairs-and-replays.ts';
import { renderEvent } from '../../shared/events/render-event.ts';
import type { EventChoice } from '../../shared/records/event-choice.ts';
import { decideNextRecord, type OperationRecord } from '../../shared/records/operation-record.ts';
import type { IndexPosition } from '../../shared/store/table.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';
import { aStore } from './store-under-test.ts';

const iso = (afterNoonMs: number) => new Date(NOON_MS + afterNoonMs).toISOString();
const STATUSES = ['scheduling', 'running', 'finished'];

/** Stores operations, each of which changes three times, a second apart, from `firstMs` after noon on. */
async function setUp(
  operations: readonly { id: string; firstMs: number; project_id?: string; published?: number }[],
) {
  const { store, table } = aStore(() => NOON_MS);
  const records = new Map<string, OperationRecord>();
  for (const { id, firstMs, published = 3, ...fields } of operations) {
    let record: OperationRecord | undefined;
    for (const [index, status] of STATUSES.entries()) {
      const context = aContext({ nowMs: NOON_MS + firstMs + index * 1_000 });
      const next = decideNextRecord(record, anOperation({ id, status, ...fields }), context);
      if (next !== undefined) await store.record(next, record?.revision);
      record = next ?? record;
    }
    if (record === undefined) throw new Error('nothing was recorded');
    await store.acknowledge(record, { through: published, derived: published });
    records.set(id, record);
  }
  const reader = { indexes: createMemoryIndexes(table), store };
  const read = (
    range: Partial<EventChoice> = {},
    request: { movedSince?: string; start?: IndexPosition | undefined; itemsMax?: number } = {},
  ) =>
    readRange(
      reader,
      { since: iso(0), until: iso(60_000), ...range },
      { movedSince: iso(0), start: undefined, itemsMax: 100, ...request },
    );
  /** The events of an operation by their places, rendered as they were published. */
  const eventsOf = (id: string, ...places: readonly number[]) =>
    places.flatMap((place) => {
      const record = records.get(id);
      const entry = record?.entries[place - 1];
      return record === undefined || entry === undefined ? [] : [renderEvent(record, entry)];
    });
  return { read, eventsOf };
}

test('an event is in the range from its first millisecond on, and its end is not in it', async () => {
  const { read, eventsOf } = await setUp([{ id: 'a', firstMs: 1_000 }]);

  const { events, next } = await read({ since: iso(2_000), until: iso(3_000) });

  expect(events).toEqual(eventsOf('a', 2));
  expect(next).toBeUndefined();
});

test('an event that the bus has not accepted yet is left out', async () => {
  const { read, eventsOf } = await setUp([{ id: 'a', firstMs: 0, published: 2 }]);

  expect((await read()).events).toEqual(eventsOf('a', 1, 2));
});

test('a range of one project has its events and no others', async () => {
  const { read, eventsOf } = await setUp([
    { id: 'a', firstMs: 0, project_id: 'a-project' },
    { id: 'b', firstMs: 0, project_id: 'another-project' },
  ]);

  expect((await read({ project_id: 'a-project' })).events).toEqual(eventsOf('a', 1, 2, 3));
  expect((await read()).events).toEqual([...eventsOf('a', 1, 2, 3), ...eventsOf('b', 1, 2, 3)]);
});

test('items are read a page at a time, from the one whose latest event is as old as the range asks', async () => {
  const { read, eventsOf } = await setUp([
    { id: 'older', firstMs: 0 },
    { id: 'at once', firstMs: 1_000 },
    { id: 'later', firstMs: 5_000 },
  ]);
  const movedSince = iso(3_000);

  const first = await read({}, { movedSince, itemsMax: 1 });
  const second = await read({}, { movedSince, itemsMax: 1, start: first.next });

  expect(first.events).toEqual(eventsOf('at once', 1, 2, 3));
  expect(second.events).toEqual(eventsOf('later', 1, 2, 3));
  expect(second.next).toBeUndefined();
});
