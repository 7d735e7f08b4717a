/**
 * Writes the fixture of a release: `node test/store/record-items.ts test/fixtures/items-<commit>`. Run it with the code of
 * that release, once; afterwards the files are never written again.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { readEveryKind, writeEveryKind } from './every-kind.ts';
import { readEveryQueueItem, writeEveryQueueItem } from './every-queue-item.ts';

const TABLE_NAME = 'items';
const [folder] = process.argv.slice(2);
if (folder === undefined)
  throw new Error('Say into which folder the items go, for example test/fixtures/items-78d4a65');

const aws = await startLocalAws();
const { credentials } = aws;
const client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials });
await createTable(client, tableDefinition(TABLE_NAME));
const table = createDynamoDbTable(client, TABLE_NAME);
const save = (name: string, value: unknown) =>
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 1)}\n`);

// The queue has files of its own, and its items are recorded while they are alone in the table.
await writeEveryQueueItem(table);
save('queue-items.json', await itemsOf(TABLE_NAME));
save('queue-read-back.json', await readEveryQueueItem(table));
const queued = new Set((await itemsOf(TABLE_NAME)).map(nameOf));
await writeEveryKind(table);
const items = (await itemsOf(TABLE_NAME)).filter((item) => !queued.has(nameOf(item)));
save('items.json', items);
save('read-back.json', await readEveryKind(table));
client.destroy();
await aws.close();

async function itemsOf(tableName: string) {
  const { Items = [] } = await DynamoDBDocumentClient.from(client).send(
    new ScanCommand({ TableName: tableName }),
  );
  return Items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function nameOf(item: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([item['pk'], item['sk']]);
}
