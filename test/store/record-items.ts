/**
 * Writes the fixture of a release: `node test/store/record-items.ts test/fixtures/items-<commit>`. Run it with the code of
 * that release, once; afterwards the files are never written again.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { createDynamoDbCounters } from '../../shared/store/dynamodb/dynamodb-counters.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/dynamodb/table-definition.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { readEveryKind, writeEveryKind } from './every-kind.ts';

const TABLE_NAME = 'items';
const [folder] = process.argv.slice(2);
if (folder === undefined)
  throw new Error('Say into which folder the items go, for example test/fixtures/items-78d4a65');

const aws = await startLocalAws();
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
const client = new DynamoDBClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials });
await createTable(client, tableDefinition(TABLE_NAME));
const table = createDynamoDbTable(client, TABLE_NAME);
await writeEveryKind(table, createDynamoDbCounters(client, TABLE_NAME));
const { Items = [] } = await DynamoDBDocumentClient.from(client).send(
  new ScanCommand({ TableName: TABLE_NAME }),
);
const items = Items.toSorted((a, b) => (`${a['pk']} ${a['sk']}` < `${b['pk']} ${b['sk']}` ? -1 : 1));
const save = (name: string, value: unknown) =>
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 1)}\n`);
save('items.json', items);
save('read-back.json', await readEveryKind(table));
client.destroy();
await aws.close();
