/** Implements `TablePartitions` over DynamoDB. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { IndexPosition, Item, TablePartitions } from '../table.ts';
import { type Access, readableAttributes } from '../table-access.ts';

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
