import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, test } from 'vitest';
import { compileUpdate, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { projectKey } from '../../shared/store/keys.ts';

/** This client does what the local stand-in never does: it hands keys back, and answers a small query in pieces. */
const documents = mockClient(DynamoDBDocumentClient);
const pauses: number[] = [];
const table = createDynamoDbTable(new DynamoDBClient({ region: 'us-east-1' }), 'table', undefined, {
  clock: { now: () => 0, sleep: async (durationMs) => void pauses.push(durationMs) },
  random: { next: () => 0.5 },
});

beforeEach(() => {
  documents.reset();
  pauses.length = 0;
});

describe('the DynamoDB table', () => {
  test('asks again for keys that a busy table hands back', async () => {
    const item = (sk: string) => ({ pk: 'p', sk });
    documents
      .on(BatchGetCommand)
      .resolvesOnce({ Responses: { table: [item('a')] }, UnprocessedKeys: { table: { Keys: [item('b')] } } })
      .resolvesOnce({ Responses: { table: [item('b')] } });

    expect(await table.getMany([item('a'), item('b')])).toEqual([item('a'), item('b')]);
    expect(documents.commandCalls(BatchGetCommand)[1]?.args[0].input.RequestItems).toEqual({
      table: { Keys: [item('b')], ConsistentRead: true },
    });
  });

  test('gives up by name on a table that hands keys back for ever', async () => {
    const Keys = [{ pk: 'p', sk: 'a' }];
    documents.on(BatchGetCommand).resolves({ UnprocessedKeys: { table: { Keys } } });

    await expect(table.getMany([{ pk: 'p', sk: 'a' }])).rejects.toMatchObject({ code: 'table_throttled' });
    expect(documents.commandCalls(BatchGetCommand)).toHaveLength(6);
    expect(pauses).toEqual([25, 50, 100, 200, 400]);
  });

  test('says which keys were left unread, and hands over the items of the others', async () => {
    const item = (sk: string) => ({ pk: 'p', sk });
    documents
      .on(BatchGetCommand)
      .resolvesOnce({ Responses: { table: [item('a')] }, UnprocessedKeys: { table: { Keys: [item('b')] } } })
      .resolves({ UnprocessedKeys: { table: { Keys: [item('b')] } } });

    await expect(table.getMany([item('a'), item('b')])).rejects.toMatchObject({
      items: [item('a')],
      unread: [item('b')],
    });
  });

  test('reads a query to its last page', async () => {
    documents
      .on(QueryCommand)
      .resolvesOnce({ Items: [{ pk: 'p', sk: 'a' }], LastEvaluatedKey: { pk: 'p', sk: 'a' } })
      .resolvesOnce({ Items: [{ pk: 'p', sk: 'b' }] });

    expect(await table.queryWork({ work: 'main' })).toEqual([
      { pk: 'p', sk: 'a' },
      { pk: 'p', sk: 'b' },
    ]);
    expect(documents.commandCalls(QueryCommand)[1]?.args[0].input.ExclusiveStartKey).toEqual({
      pk: 'p',
      sk: 'a',
    });
  });

  test('reads items strongly and the index as it is', async () => {
    documents.on(BatchGetCommand).resolves({});
    documents.on(QueryCommand).resolves({});
    await table.getMany([{ pk: 'p', sk: 'a' }]);
    await table.queryWork({ work: 'main', pk: 'p' });

    expect(
      documents.commandCalls(BatchGetCommand)[0]?.args[0].input.RequestItems?.['table']?.ConsistentRead,
    ).toBe(true);
    expect(documents.commandCalls(QueryCommand)[0]?.args[0].input).toMatchObject({
      IndexName: 'work',
      KeyConditionExpression: '#partition = :partition AND #order = :order',
    });
  });

  test('asks for the attributes that its role may read, and for no others', async () => {
    documents.on(GetCommand).resolves({});
    documents.on(BatchGetCommand).resolves({});
    const reads = { protocol: ['pk', 'sk', 'status', 'failures_count'], tokens: ['hash'] };
    const bound = createDynamoDbTable(new DynamoDBClient({ region: 'us-east-1' }), 'table', { reads });
    await bound.get(projectKey('a', 'p'));
    await bound.getMany([projectKey('a', 'p'), projectKey('a', 'q')]);

    const projection = {
      ProjectionExpression: '#a0, #a1, #a2, failures_count',
      ExpressionAttributeNames: { '#a0': 'pk', '#a1': 'sk', '#a2': 'status' },
    };
    expect(documents.commandCalls(GetCommand)[0]?.args[0].input).toMatchObject(projection);
    expect(documents.commandCalls(BatchGetCommand)[0]?.args[0].input.RequestItems?.['table']).toMatchObject(
      projection,
    );
  });

  test('compiles an update into expressions in which no name or value stands as text', () => {
    const compiled = compileUpdate('table', {
      key: { pk: 'p', sk: 's' },
      set: { status: 'failed', gone: undefined },
      remove: ['outbox'],
      condition: {
        kind: 'all',
        of: [
          { kind: 'equals', name: 'revision', value: 3 },
          {
            kind: 'any',
            of: [
              { kind: 'absent', name: 'published' },
              { kind: 'less', name: 'published', value: 2 },
            ],
          },
        ],
      },
    });

    expect(compiled).toEqual({
      TableName: 'table',
      Key: { pk: 'p', sk: 's' },
      UpdateExpression: 'SET #n0 = :v0 REMOVE #n1',
      ConditionExpression: '(#n2 = :v1) AND ((attribute_not_exists(#n3)) OR (#n3 < :v2))',
      ExpressionAttributeNames: { '#n0': 'status', '#n1': 'outbox', '#n2': 'revision', '#n3': 'published' },
      ExpressionAttributeValues: { ':v0': 'failed', ':v1': 3, ':v2': 2 },
    });
  });
});
