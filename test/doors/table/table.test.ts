/** Every table that the bridge or a test of it runs on keeps the same contract. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLocalDynamoDb } from '../../../infra/local/aws/dynamodb.ts';
import { type LocalAwsOptions, startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { createMemoryPartitions } from '../../store/memory-partitions.ts';
import {
  tableOfTheCloseWorld,
  tableOfTheWideWorld,
  troubledTableOfTheWideWorld,
} from '../../store/tables-of-the-worlds.ts';
import { describeTable, describeTroubledTable, type TableUnderTest } from './table-contract.ts';
import { withFaults } from './table-faults.ts';

const TABLE = 'contract';
const READS = { reads: { protocol: ['pk', 'sk', 'status'] } };

interface Opened extends AsyncDisposable {
  readonly client: DynamoDBClient;
}

const places = {
  'dynalite, through the SDK': openDynalite,
  'the embedded AWS, through the SDK': () => openEmbeddedAws(),
} as const;

for (const [name, open] of Object.entries(places)) {
  // The clients of the suite exist before the server does, because the suite asks which ports there are.
  let opened: Opened | undefined;
  const client = () => opened?.client ?? new DynamoDBClient({ region: 'us-east-1' });
  beforeAll(async () => {
    opened = await open();
    await createTable(opened.client, tableDefinition(TABLE));
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
  describeTable(name, (): TableUnderTest => portsOn(client()));
}

const memory = createMemoryTable();
describeTable('the memory table', () => ({
  table: memory,
  indexes: createMemoryIndexes(memory),
  partitions: createMemoryPartitions(memory),
}));
describeTable('the table of the close world', () => ({ table: tableOfTheCloseWorld(createMemoryTable()) }));
describeTable('the table of the wide world', () => ({ table: tableOfTheWideWorld(createMemoryTable()) }));

describeTroubledTable('the table of the wide world', () => troubledTableOfTheWideWorld(createMemoryTable()));

{
  const random = seededRandom(41);
  let unreadCount = 0;
  let opened: Opened | undefined;
  const leavesUnread = () => {
    const isUnread = random.next() < 0.4;
    unreadCount += Number(isUnread);
    return isUnread;
  };
  beforeAll(async () => {
    opened = await openEmbeddedAws({ tables: withFaults(await openLocalDynamoDb(), leavesUnread) });
    await createTable(opened.client, tableDefinition(TABLE));
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());
  describeTroubledTable('the embedded AWS, through the SDK', () => {
    const { client } = opened ?? { client: new DynamoDBClient({ region: 'us-east-1' }) };
    // The pauses between two attempts take no time.
    const clock = { now: () => 0, sleep: async () => {} };
    return { ...portsOn(client), table: createDynamoDbTable(client, TABLE, undefined, { clock, random }) };
  });
  test('the embedded AWS has left keys unread', () => {
    expect(unreadCount).toBeGreaterThan(100);
  });
}

function portsOn(client: DynamoDBClient) {
  return {
    table: createDynamoDbTable(client, TABLE),
    indexes: createDynamoDbIndexes(client, TABLE),
    partitions: createDynamoDbPartitions(client, TABLE, READS),
  };
}

async function openDynalite(): Promise<Opened> {
  const dynamoDb = await openLocalDynamoDb();
  const server = createServer((request, response) => dynamoDb.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: 'a-key', secretAccessKey: 'unused' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await dynamoDb.close();
    },
  };
}

async function openEmbeddedAws(options: LocalAwsOptions = {}): Promise<Opened> {
  const aws = await startLocalAws(options);
  const { endpoint, credentials } = aws;
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await aws.close();
    },
  };
}
