/** Implements `TableIndexes` over DynamoDB. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { IndexPosition, IndexQuery, TableIndexes } from '../table.ts';

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
