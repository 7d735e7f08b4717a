import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll } from 'vitest';
import { type LocalAws, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { ACCOUNT_ATTRIBUTES } from '../../shared/accounts/account.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { KEY } from '../../shared/store/table-access.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { describeAccounts } from './accounts-contract.ts';
import { describeInsights } from './insights-contract.ts';
import { describeLedger } from './ledger-contract.ts';
import { createMemoryIndexes } from './memory-indexes.ts';
import { describeMutes } from './mutes-contract.ts';
import { describeQueue } from './queue-contract.ts';
import { describeStore } from './store-contract.ts';

const TABLE_NAME = 'store-contract';
const ACCOUNT_ACCESS = { reads: { accounts: [...KEY, ...ACCOUNT_ATTRIBUTES] } };
let aws: LocalAws;
let client: DynamoDBClient;

beforeAll(async () => {
  aws = await startLocalAws();
  const { credentials } = aws;
  client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials });
  await createTable(client, tableDefinition(TABLE_NAME));
});

afterAll(async () => {
  client.destroy();
  await aws.close();
});

const memory = createMemoryTable();

describeStore('the in-memory table of the simulation', () => memory);

describeLedger('the in-memory table of the simulation', () => memory);
describeInsights('the in-memory table of the simulation', () => memory);
describeInsights('DynamoDB over HTTP', () => createDynamoDbTable(client, TABLE_NAME));
describeQueue('the in-memory table of the simulation', () => memory);
describeQueue('DynamoDB over HTTP', () => createDynamoDbTable(client, TABLE_NAME));
describeMutes('the in-memory table of the simulation', () => ({
  table: memory,
  indexes: createMemoryIndexes(memory),
}));
describeMutes('DynamoDB over HTTP', () => ({
  table: createDynamoDbTable(client, TABLE_NAME),
  indexes: createDynamoDbIndexes(client, TABLE_NAME),
}));
describeAccounts('DynamoDB over HTTP', () => ({
  table: createDynamoDbTable(client, TABLE_NAME),
  partitions: createDynamoDbPartitions(client, TABLE_NAME, ACCOUNT_ACCESS),
}));
describeStore('DynamoDB over HTTP', () => createDynamoDbTable(client, TABLE_NAME));
describeLedger('DynamoDB over HTTP', () => createDynamoDbTable(client, TABLE_NAME));
