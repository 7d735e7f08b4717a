/** Implements the indexes and partitions of the table over DynamoDB. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { IndexPosition, IndexQuery, Item, TableIndexes, TablePartitions } from './table.ts';
import { type Access, readableAttributes } from './table-access.ts';

export function createDynamoDbIndexes(client: DynamoDBClient, tableName: string): TableIndexes {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async query(query) {
      const { index, limit, start, newestFirst = false } = query;
      const answer = await documents.send(
        new QueryCommand({
          TableName: tableName,
          IndexName: index.name,
          ...keyCondition(query),
          ScanIndexForward: !newestFirst,
          Limit: limit,
          ...(start && { ExclusiveStartKey: start }),
        }),
      );
      const keys = (answer.Items ?? []).map((item) => ({
        pk: String(item['pk']),
        sk: String(item['sk']),
        sortKey: String(item[index.sortKey]),
      }));
      return { keys, next: answer.LastEvaluatedKey as IndexPosition | undefined };
    },
  };
}

function keyCondition({ index, partition, after }: IndexQuery) {
  return {
    KeyConditionExpression:
      after === undefined ? '#partition = :partition' : '#partition = :partition AND #order > :after',
    ExpressionAttributeNames: {
      '#partition': index.partitionKey,
      ...(after !== undefined && { '#order': index.sortKey }),
    },
    ExpressionAttributeValues: { ':partition': partition, ...(after !== undefined && { ':after': after }) },
  };
}

/** `access` names the attributes that are asked for, because the function's role allows no others. */
export function createDynamoDbPartitions(
  client: DynamoDBClient,
  tableName: string,
  access: Pick<Access, 'reads'>,
): TablePartitions {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async readPartition({ partition, start, mayLag }) {
      const names = readableAttributes(access, partition) ?? [];
      const placeholders = new Map(names.map((name, index) => [name, `#a${index}`]));
      const answer = await documents.send(
        new QueryCommand({
          TableName: tableName,
          ConsistentRead: mayLag !== true,
          KeyConditionExpression: `${placeholders.get('pk')} = :partition`,
          Select: 'SPECIFIC_ATTRIBUTES',
          ProjectionExpression: [...placeholders.values()].join(', '),
          ExpressionAttributeNames: Object.fromEntries(
            [...placeholders].map(([name, placeholder]) => [placeholder, name]),
          ),
          ExpressionAttributeValues: { ':partition': partition },
          ...(start && { ExclusiveStartKey: start }),
        }),
      );
      return {
        items: (answer.Items ?? []) as Item[],
        next: answer.LastEvaluatedKey as IndexPosition | undefined,
      };
    },
  };
}
