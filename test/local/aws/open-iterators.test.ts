import { PutItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import databases, { type Store } from 'dynalite/db/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { tableDefinition } from '../../../shared/store/table.ts';
import { createTable, openAws } from './aws-under-test.ts';

const TableName = 'operations';
const ITEM_COUNT = 30;

/** Counts what the database itself holds open, independently of the code around it. */
function watchOpenResources() {
  const open = new Set<object>();
  const { create } = databases;
  databases.create = (options) => {
    const store: Store = create(options);
    const attach = store.db.attachResource.bind(store.db);
    const detach = store.db.detachResource.bind(store.db);
    store.db.attachResource = (resource) => {
      open.add(resource);
      attach(resource);
    };
    store.db.detachResource = (resource) => {
      open.delete(resource);
      detach(resource);
    };
    return store;
  };
  onTestFinished(() => {
    databases.create = create;
  });
  return open;
}

test.each([
  ['queries that read to the end', {}],
  ['queries that stop at a limit', { Limit: 3 }],
  ['queries that find nothing', { ExpressionAttributeValues: { ':pk': { S: 'unknown' } } }],
])('the embedded table closes the iterators of %s', async (_what, fields) => {
  const open = watchOpenResources();
  const { tables } = await openAws();
  await createTable(tables, tableDefinition(TableName));
  for (let item = 0; item < ITEM_COUNT; item++)
    await tables.send(
      new PutItemCommand({ TableName, Item: { pk: { S: 'p' }, sk: { S: String(item).padStart(4, '0') } } }),
    );
  const query = new QueryCommand({
    TableName,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: 'p' } },
    ...fields,
  });

  for (let count = 0; count < 25; count++) await tables.send(query);
  await tables.send(new ScanCommand({ TableName, Limit: 2 }));

  // An iterator closes a moment after the answer, so the test polls until none is open.
  await expect.poll(() => open.size, { timeout: 20_000 }).toBe(0);
});
