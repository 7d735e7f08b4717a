/** What the table's adapters ask of DynamoDB on the wire, and what they make of an answer that comes in pieces. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, onTestFinished, test } from 'vitest';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../../shared/store/dynamodb-table.ts';
import { INDEXES, type Key } from '../../../shared/store/table.ts';
import { asks, ok } from '../command-line/answers.ts';
import { type Exchange, startScriptedServer } from '../command-line/scripted-server.ts';

const TABLE = 'table';
const READS = { reads: { protocol: ['pk', 'sk', 'status'] } };

async function aDynamoDb(...script: readonly Exchange[]) {
  const server = await startScriptedServer(script, 'in any order');
  onTestFinished(() => server[Symbol.asyncDispose]());
  const credentials = { accessKeyId: 'a-key', secretAccessKey: 'unused' };
  const client = new DynamoDBClient({
    endpoint: server.origin,
    region: 'us-east-1',
    credentials,
    maxAttempts: 1,
  });
  onTestFinished(() => client.destroy());
  const bodies = () => server.asked.map(({ body }) => JSON.parse(body) as Body);
  return {
    table: createDynamoDbTable(client, TABLE),
    indexes: createDynamoDbIndexes(client, TABLE),
    partitions: createDynamoDbPartitions(client, TABLE, READS),
    bodies,
  };
}

interface Body {
  readonly ConsistentRead?: boolean;
  readonly IndexName?: string;
  readonly RequestItems?: Readonly<
    Record<string, { readonly Keys: readonly object[]; readonly ConsistentRead?: boolean }>
  >;
}

const stored = (sk: string) => ({ pk: { S: 'p' }, sk: { S: sk } });
const batch = (items: readonly object[], unread: readonly object[] = []) =>
  asks(
    'AWS BatchGetItem',
    ok({
      Responses: { [TABLE]: items },
      UnprocessedKeys: unread.length === 0 ? {} : { [TABLE]: { Keys: unread, ConsistentRead: true } },
    }),
  );

test('one item is read consistently', async () => {
  const { table, bodies } = await aDynamoDb(asks('AWS GetItem', ok({ Item: stored('a') })));

  expect(await table.get({ pk: 'p', sk: 'a' })).toEqual({ pk: 'p', sk: 'a' });
  expect(bodies()).toMatchObject([{ TableName: TABLE, ConsistentRead: true }]);
});

test('many items are read consistently, at most a hundred keys in a call, and each key is asked once', async () => {
  const keys: readonly Key[] = Array.from({ length: 250 }, (_, index) => ({ pk: 'p', sk: String(index) }));
  const { table, bodies } = await aDynamoDb(batch([]), batch([]), batch([]));
  await table.getMany(keys);

  const calls = bodies().flatMap(({ RequestItems = {} }) => RequestItems[TABLE] ?? []);
  expect(calls.map(({ ConsistentRead }) => ConsistentRead)).toEqual([true, true, true]);
  expect(Math.max(...calls.map(({ Keys }) => Keys.length))).toBeLessThanOrEqual(100);
  expect(new Set(calls.flatMap(({ Keys }) => Keys.map((key) => JSON.stringify(key)))).size).toBe(250);
  expect(calls.flatMap(({ Keys }) => Keys)).toHaveLength(250);
});

test('only the keys that were handed back are asked again, consistently, until all are read', async () => {
  const { table, bodies } = await aDynamoDb(
    batch([stored('a')], [stored('b'), stored('c')]),
    batch([stored('c')], [stored('b')]),
    batch([stored('b')]),
  );
  const read = await table.getMany(['a', 'b', 'c'].map((sk) => ({ pk: 'p', sk })));

  expect(read.map(({ sk }) => sk).toSorted()).toEqual(['a', 'b', 'c']);
  const calls = bodies().flatMap(({ RequestItems = {} }) => RequestItems[TABLE] ?? []);
  expect(calls.map(({ Keys }) => Keys.length)).toEqual([3, 2, 1]);
  expect(calls.every(({ ConsistentRead }) => ConsistentRead === true)).toBe(true);
});

test('a partition is read consistently, page by page, unless it may lag', async () => {
  const { partitions, bodies } = await aDynamoDb(
    asks('AWS Query', ok({ Items: [stored('a')], LastEvaluatedKey: stored('a') })),
    asks('AWS Query', ok({ Items: [stored('b')] })),
    asks('AWS Query', ok({ Items: [] })),
  );
  const first = await partitions.readPartition({ partition: 'A#p' });
  const second = await partitions.readPartition({ partition: 'A#p', start: first.next });
  await partitions.readPartition({ partition: 'A#p', mayLag: true });

  expect([first, second].map(({ items }) => items[0]?.sk)).toEqual(['a', 'b']);
  expect(second.next).toBeUndefined();
  expect(bodies()).toMatchObject([
    { ConsistentRead: true },
    { ConsistentRead: true, ExclusiveStartKey: stored('a') },
    { ConsistentRead: false },
  ]);
});

test('an index is never asked for a consistent read, which DynamoDB refuses', async () => {
  const page = asks('AWS Query', ok({ Items: [] }));
  const { table, indexes, bodies } = await aDynamoDb(page, page, ...INDEXES.map(() => page));
  await table.queryWork({ work: 'main' });
  await table.queryWorkPage({ work: 'main', limit: 10 });
  for (const index of INDEXES) await indexes.query({ index, partition: 'p', limit: 10 });

  for (const body of bodies()) {
    expect(body.IndexName).toEqual(expect.any(String));
    expect(body.ConsistentRead ?? false).toBe(false);
  }
});
