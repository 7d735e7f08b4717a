/** The table itself: keys and the sparse index. The local stand-in creates it from here, the deployment too. */

import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { WORK_INDEX } from './table.ts';

export function tableDefinition(tableName: string): CreateTableCommandInput {
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'sk', WORK_INDEX.partitionKey].map((AttributeName) => ({
      AttributeName,
      AttributeType: 'S',
    })),
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: WORK_INDEX.name,
        KeySchema: [
          { AttributeName: WORK_INDEX.partitionKey, KeyType: 'HASH' },
          { AttributeName: WORK_INDEX.sortKey, KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
  };
}
