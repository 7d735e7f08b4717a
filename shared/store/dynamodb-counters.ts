/** `TableCounters` over DynamoDB. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { TableCounters } from './table.ts';

export function createDynamoDbCounters(client: DynamoDBClient, tableName: string): TableCounters {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async increment({ key, name, by }) {
      const answer = await documents.send(
        new UpdateCommand({
          TableName: tableName,
          Key: { ...key },
          UpdateExpression: 'ADD #name :by',
          ExpressionAttributeNames: { '#name': name },
          ExpressionAttributeValues: { ':by': by },
          ReturnValues: 'UPDATED_NEW',
        }),
      );
      return Number(answer.Attributes?.[name]);
    },
  };
}
