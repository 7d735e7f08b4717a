import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CreateTableCommandInput,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { createTable, openAws } from './aws-under-test.ts';

const definition: CreateTableCommandInput = {
  TableName: 'operations',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: ['pk', 'sk', 'due'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'byDue',
      KeySchema: [{ AttributeName: 'due', KeyType: 'HASH' }],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    },
  ],
};
const TableName = 'operations';
const Key = { pk: { S: 'p' }, sk: { S: '1' } };

const put = (tables: DynamoDBClient, sk: string, fields: object = {}) =>
  tables.send(new PutItemCommand({ TableName, Item: { pk: { S: 'p' }, sk: { S: sk }, ...fields } }));
const get = (tables: DynamoDBClient) =>
  tables.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'local-dynamodb-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the local DynamoDB, through the real client', () => {
  test('applies a conditional update once and refuses it afterwards', async () => {
    const { tables } = await openAws();
    await createTable(tables, definition);
    await put(tables, '1', { version: { N: '1' } });
    const update = new UpdateItemCommand({
      TableName,
      Key,
      UpdateExpression: 'SET version = :next',
      ConditionExpression: 'version = :read',
      ExpressionAttributeValues: { ':read': { N: '1' }, ':next': { N: '2' } },
    });
    await tables.send(update);

    await expect(tables.send(update)).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    expect((await get(tables)).Item).toEqual({ ...Key, version: { N: '2' } });
  });

  test('finds through a sparse index only the items that have its key, and returns only their keys', async () => {
    const { tables } = await openAws();
    await createTable(tables, definition);
    await put(tables, '1', { due: { S: 'yes' }, payload: { S: 'not projected' } });
    await put(tables, '2');
    const { Items } = await tables.send(
      new QueryCommand({
        TableName,
        IndexName: 'byDue',
        KeyConditionExpression: 'due = :due',
        ExpressionAttributeValues: { ':due': { S: 'yes' } },
      }),
    );

    expect(Items).toEqual([{ ...Key, due: { S: 'yes' } }]);
  });

  test('accepts only one of fifty puts whose condition is that the item does not exist', async () => {
    const { tables } = await openAws();
    await createTable(tables, definition);
    const ConditionExpression = 'attribute_not_exists(pk)';
    const command = new PutItemCommand({ TableName, Item: Key, ConditionExpression });
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => tables.send(command)));

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('keeps the items of a folder when it is closed and opened again, repeatedly, in the same process', async () => {
    const tablesDir = aFolder();
    const first = await openAws({ tablesDir });
    await createTable(first.tables, definition);
    await put(first.tables, '1', { value: { S: 'kept' } });
    await first.aws.close();
    const second = await openAws({ tablesDir });
    expect((await get(second.tables)).Item).toMatchObject({ value: { S: 'kept' } });
    await second.aws.close();
    const third = await openAws({ tablesDir });

    expect((await get(third.tables)).Item).toMatchObject({ value: { S: 'kept' } });
  });

  test('forgets tables in memory when it is closed', async () => {
    const first = await openAws();
    await createTable(first.tables, definition);
    await first.aws.close();
    const second = await openAws();

    await expect(get(second.tables)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  test('refuses a folder that is in use, and names it', async () => {
    const tablesDir = aFolder();
    await openAws({ tablesDir });

    await expect(startLocalAws({ tablesDir })).rejects.toMatchObject({
      code: 'local_tables_unavailable',
      message: expect.stringContaining(tablesDir),
    });
  });

  test('releases the folder when the port is in use', async () => {
    const tablesDir = aFolder();
    const { aws } = await openAws();
    const port = Number(new URL(aws.endpoint).port);
    await expect(startLocalAws({ port, tablesDir })).rejects.toMatchObject({ code: 'EADDRINUSE' });

    await expect(openAws({ tablesDir })).resolves.toBeDefined();
  });
});
