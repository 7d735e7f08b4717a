/** Tests lists, pages and the feed, on DynamoDB's stand-in through the real client and on the table in memory. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuditReader } from '../../functions/api/read-model/audit-reader.ts';
import { createReadModel, type ReadModel } from '../../functions/api/read-model/read-model.ts';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createAuditLog } from '../../shared/commands/audit.ts';
import {
  decideNextRecord,
  decideWatchEnd,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import { decideDiscovery } from '../../shared/records/project-record.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createDynamoDbIndexes, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { type Table, type TableIndexes, tableDefinition } from '../../shared/store/table.ts';
import { aClock, aContext, anOperation, NOON_MS } from '../builders.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createMemoryIndexes } from './memory-indexes.ts';

const TABLE_NAME = 'read-model';
let aws: LocalAws;
let client: DynamoDBClient;

beforeAll(async () => {
  aws = await startLocalAws();
  const { credentials } = aws;
  client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials });
  await createTable(client, tableDefinition(TABLE_NAME));
});

afterAll(async () => {
  client.destroy();
  await aws.close();
});

const PROJECT_ID = anOperation().project_id;
const idOf = (number: number) => `a07f8772-1877-4da9-a939-${String(number).padStart(12, '0')}`;
const isoOf = (epochMs: number) => new Date(epochMs).toISOString();

interface Stage {
  readonly read: ReadModel;
  readonly clock: { nowMs: number };
  /** Records one more state of an operation at the clock's time. The first call creates the operation. */
  readonly move: (number: number, status: string, atMs?: number) => Promise<OperationRecord>;
  readonly store: ReturnType<typeof createBridgeStore>;
}

function stage(table: Table, indexes: TableIndexes, accountId: string): Stage {
  const time = { nowMs: NOON_MS };
  const clock: Clock = { now: () => time.nowMs, sleep: async () => {} };
  const store = createBridgeStore(table, accountId, clock);
  return {
    clock: time,
    store,
    read: createReadModel(table, indexes, accountId, { clock }),
    async move(number, status, atMs = time.nowMs) {
      const recorded = await store.readOperation(PROJECT_ID, idOf(number));
      const reading = anOperation({ id: idOf(number), status, created_at: isoOf(NOON_MS + number * 1_000) });
      const next = decideNextRecord(recorded, reading, { ...aContext(), account_id: accountId, nowMs: atMs });
      if (next === undefined) throw new Error('Nothing changed');
      await store.record(next, recorded?.revision);
      return next;
    },
  };
}

let auditedAccounts = 0;

const tables: readonly (readonly [string, () => readonly [Table, TableIndexes]])[] = [
  [
    'in memory',
    () => {
      const table = createMemoryTable();
      return [table, createMemoryIndexes(table)];
    },
  ],
  [
    'DynamoDB over HTTP',
    () => [createDynamoDbTable(client, TABLE_NAME), createDynamoDbIndexes(client, TABLE_NAME)],
  ],
];

async function all<T>(
  page: (cursor: string | undefined) => Promise<{ items: readonly T[]; next: string | undefined }>,
) {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const { items: some, next } = await page(cursor);
    items.push(...some);
    cursor = next;
  } while (cursor !== undefined);
  return items;
}

describe.each(tables)('the read model, %s', (name, open) => {
  let count = 0;
  const setUp = () => stage(...open(), `reader-${name.replace(/\W/g, '')}-${++count}`);

  test('lists the operations of a project newest first, page by page, each once', async () => {
    const { read, move } = setUp();
    for (const number of [3, 1, 7, 5, 2, 6, 4]) await move(number, 'running');

    const operations = await all((cursor) => read.operations(PROJECT_ID, { limit: 3, cursor }));

    expect(operations.map(({ operation_id }) => operation_id)).toEqual([7, 6, 5, 4, 3, 2, 1].map(idOf));
  });

  test('an operation keeps its position however often it changes', async () => {
    const { read, move } = setUp();
    await move(1, 'running');
    await move(2, 'running');
    await move(1, 'finished');

    const { items } = await read.operations(PROJECT_ID, { limit: 10 });

    expect(items.map(({ operation_id, status }) => [operation_id, status])).toEqual([
      [idOf(2), 'running'],
      [idOf(1), 'finished'],
    ]);
  });

  test('lists projects by their id', async () => {
    const { read, store } = setUp();
    for (const project_id of ['c-1', 'a-1', 'b-1']) {
      const record = decideDiscovery(undefined, {
        account_id: read.accountId,
        project_id,
        nowMs: NOON_MS,
        isNews: false,
      });
      if (record !== undefined) await store.record(record, undefined);
    }

    const projects = await all((cursor) => read.projects({ limit: 2, cursor }));

    expect(projects.map(({ project_id }) => project_id)).toEqual(['a-1', 'b-1', 'c-1']);
  });

  test('knows what is open, and what the bus has not got yet', async () => {
    const { read, move, store } = setUp();
    await move(1, 'running', NOON_MS + 5);
    const ended = await move(2, 'finished', NOON_MS + 3);
    expect((await read.openOperations()).map(({ operation_id }) => operation_id)).toEqual([idOf(1)]);
    expect(await read.unpublished()).toEqual({ count: 2, oldest_at: isoOf(NOON_MS + 3) });

    await store.acknowledge(ended, { through: 1, derived: 1 });

    expect(await read.unpublished()).toEqual({ count: 1, oldest_at: isoOf(NOON_MS + 5) });
  });

  test('a feed gives every event once, in order, and then what is new', async () => {
    const { read, move, clock } = setUp();
    await move(1, 'scheduling', NOON_MS + 1);
    await move(2, 'scheduling', NOON_MS + 2);
    await move(1, 'running', NOON_MS + 3);
    const first = await read.feed.since(read.feed.start('beginning'));
    expect(first.events.map(({ detail }) => [detail['operation_id'], detail['status']])).toEqual([
      [idOf(1), 'scheduling'],
      [idOf(2), 'scheduling'],
      [idOf(1), 'running'],
    ]);

    expect((await read.feed.since(first.cursor)).events).toEqual([]);
    clock.nowMs += 10_000;
    await move(2, 'running');
    const second = await read.feed.since(first.cursor);

    expect(second.events.map(({ detail }) => detail['status'])).toEqual(['running']);
    expect((await read.feed.since(second.cursor)).events).toEqual([]);
  });

  test('a feed that begins now shows nothing of before', async () => {
    const { read, move, clock } = setUp();
    await move(1, 'scheduling');
    clock.nowMs += 1;
    const cursor = read.feed.start('now');
    clock.nowMs += 1;

    expect((await read.feed.since(cursor)).events).toEqual([]);
    await move(1, 'running');

    expect((await read.feed.since(cursor)).events.map(({ detail }) => detail['status'])).toEqual(['running']);
  });

  test('a feed in small pages gives the same', async () => {
    const { read, move } = setUp();
    for (let number = 1; number <= 8; number++) await move(number, 'scheduling', NOON_MS + number);
    for (let number = 1; number <= 8; number++) await move(number, 'running', NOON_MS + 10 + number);

    const seen = new Set<string>();
    let cursor = read.feed.start('beginning');
    for (let page = 0; page < 4; page++) {
      const { events, cursor: next, hasMore } = await read.feed.since(cursor, 3);
      for (const { id } of events) seen.add(id);
      cursor = next;
      if (!hasMore) break;
    }

    expect(seen.size).toBe(16);
  });

  test('recent events come newest first and can be filtered', async () => {
    const { read, move } = setUp();
    for (let number = 1; number <= 4; number++) await move(number, 'running', NOON_MS + number);
    await move(2, 'failed', NOON_MS + 9);

    const recent = await read.feed.recent({ limit: 10 });
    const failed = await read.feed.recent({ limit: 10, filter: { status: 'failed' } });

    expect(recent.items.map(({ time }) => time)).toEqual(
      [9, 4, 3, 2, 1].map((offset) => isoOf(NOON_MS + offset)),
    );
    expect(failed.items.map(({ detail }) => detail['operation_id'])).toEqual([idOf(2)]);
  });

  test.each([
    ['empty', ''],
    ['one letter', 'x'],
    ['no base64', '%%%'],
    ['an empty object', Buffer.from('{}').toString('base64url')],
    ['a position in another table', Buffer.from('{"start":{"pk":"other"}}').toString('base64url')],
    ['very long', 'A'.repeat(10_000)],
  ])('a cursor that was not given out (%s) is refused by name', async (_name, cursor) => {
    const { read } = setUp();

    await expect(read.feed.since(cursor)).rejects.toMatchObject({ code: 'cursor_invalid' });
    await expect(read.projects({ limit: 1, cursor })).rejects.toMatchObject({ code: 'cursor_invalid' });
  });

  test('a cursor of one list does not open another', async () => {
    const { read, move } = setUp();
    await move(1, 'running');
    await move(2, 'running');
    const { next } = await read.operations(PROJECT_ID, { limit: 1 });

    await expect(read.operations('another-project-1', { limit: 1, cursor: next })).rejects.toMatchObject({
      code: 'cursor_invalid',
    });
  });
});

describe('a feed read while others write', () => {
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('move' as const),
        number: fc.integer({ min: 1, max: 6 }),
        skewMs: fc.integer({ min: -5_000, max: 5_000 }),
        lagMs: fc.integer({ min: 0, max: 4_000 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        durationMs: fc.integer({ min: 0, max: 40_000 }),
      }),
    },
  );

  test('misses nothing, whatever the clocks say and however late the index is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, limit) => {
          const table = createMemoryTable();
          const shown = new Map<string, { readonly sortKey: string; readonly fromMs: number }[]>();
          const indexes = createMemoryIndexes(
            table,
            ({ sk }) =>
              // The index shows the old sort key until the new one appears, because changes of one item come in
              // order.
              shown.get(sk)?.findLast(({ fromMs }) => fromMs <= clock.nowMs)?.sortKey,
          );
          const { read, move, clock, store } = stage(table, indexes, 'reader');
          const written = new Set<string>();
          const seen = new Set<string>();
          let cursor = read.feed.start('beginning');
          const readOn = async (pages: number) => {
            for (let page = 0; page < pages; page++) {
              const { events, cursor: next } = await read.feed.since(cursor, limit);
              for (const { id } of events) seen.add(id);
              cursor = next;
            }
          };

          for (const each of steps) {
            if (each.kind === 'wait') clock.nowMs += each.durationMs;
            else if (each.kind === 'read') await readOn(1);
            else {
              clock.nowMs += 100;
              const recorded = await store.readOperation(PROJECT_ID, idOf(each.number));
              const status = recorded?.status === 'running' ? 'failed' : 'running';
              const record = await move(each.number, status, clock.nowMs + each.skewMs);
              const id = record.entries.at(-1)?.id ?? '';
              written.add(id);
              const [sk, fromMs] = [`OP#${idOf(each.number)}`, clock.nowMs + each.lagMs];
              const changedAt = table.sync.items().find((item) => item.sk === sk)?.['changed_at'];
              const sortKey = typeof changedAt === 'string' ? changedAt : '';
              shown.set(sk, [...(shown.get(sk) ?? []), { sortKey, fromMs }]);
            }
          }
          clock.nowMs += 10_000;
          await readOn(60);

          expect([...written].filter((id) => !seen.has(id))).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('the end of a watch is in the feed as well', async () => {
    const table = createMemoryTable();
    const { read, move, store } = stage(table, createMemoryIndexes(table), 'reader');
    const failed = await move(1, 'failed');
    await store.record(decideWatchEnd(failed, { reason: 'not_retried', nowMs: NOON_MS + 5 }), 1);

    const { events } = await read.feed.since(read.feed.start('beginning'));

    expect(events.map(({ detail_type }) => detail_type)).toEqual([
      'Operation State Changed',
      'Operation Watch Ended',
    ]);
  });
});

describe.each(tables)('the audit %s', (_name, open) => {
  test('begins and ends at any time, whether a record has that time or not, and pages in between', async () => {
    const [table, indexes] = open();
    const accountId = `audited-${String(++auditedAccounts)}`;
    const log = createAuditLog(table, aClock());
    for (let place = 0; place < 12; place++) {
      const received_at = isoOf(NOON_MS + place * 1_000);
      const asked = { account_id: accountId, client_id: 'c', call: 'restartEndpoint', resource: {} };
      await log.begin({ ...asked, request_id: `r-${place}`, project_id: undefined, received_at });
    }
    const list = createAuditReader(table, indexes, accountId);
    const idsOf = async (fromMs: number, untilMs: number) => {
      const request = {
        limit: 4,
        from: isoOf(NOON_MS + fromMs),
        until: isoOf(NOON_MS + untilMs),
        fits: () => true,
      };
      const first = await list(request);
      const second = first.next === undefined ? undefined : await list({ ...request, cursor: first.next });
      return [...first.items, ...(second?.items ?? [])].map(({ request_id }) => request_id);
    };

    expect(await idsOf(3_000, 9_000)).toEqual(['r-8', 'r-7', 'r-6', 'r-5', 'r-4', 'r-3']);
    expect(await idsOf(2_500, 4_500)).toEqual(['r-4', 'r-3']);
    expect(await idsOf(-5_000, 1_000)).toEqual(['r-0']);
    expect(await idsOf(11_000, 60_000)).toEqual(['r-11']);
    expect(await idsOf(50_000, 60_000)).toEqual([]);
  });
});
