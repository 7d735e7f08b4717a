/** Defines the table's keys and indexes; the local stand-in and the deployment both create the table from this. */

import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { INDEXES } from './table.ts';

export function tableDefinition(tableName: string): CreateTableCommandInput {
  const names = new Set([
    'pk',
    'sk',
    ...INDEXES.flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey]),
  ]);
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [...names].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: keySchema('pk', 'sk'),
    GlobalSecondaryIndexes: INDEXES.map(({ name, partitionKey, sortKey }) => ({
      IndexName: name,
      KeySchema: keySchema(partitionKey, sortKey),
      Projection: { ProjectionType: 'KEYS_ONLY' },
    })),
  };
}

function keySchema(partitionKey: string, sortKey: string) {
  return [
    { AttributeName: partitionKey, KeyType: 'HASH' as const },
    { AttributeName: sortKey, KeyType: 'RANGE' as const },
  ];
}
