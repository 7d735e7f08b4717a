/**
 * `npm run bench -- table-memory` measures the resident memory of the embedded table over 100,000 queries and prints a
 * line for every 10,000. Two tables run one after the other in processes of their own: that of the local AWS, and
 * dynalite without our patches. The second one leaks, so it gets fewer queries.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { openLocalDynamoDb } from '../../infra/local/aws/dynamodb.ts';
import { tableDefinition } from '../../shared/store/dynamodb/table-definition.ts';
import { createTable } from '../local/aws/aws-under-test.ts';

const TableName = 'operations';
const ITEM_COUNT = 100;
const ITEM_BYTES = 600;

/** This number keeps a processor busy; a higher one would measure a queue. */
const QUERIES_AT_ONCE = 8;

/** After these queries Node's own pools and caches are full, so the slope is measured from here. */
const WARM_UP_QUERIES = 20_000;
const QUERIES = 100_000;
const STEP_QUERIES = 10_000;

/** The leaking table gets fewer queries, because all of them would take the whole memory of a small machine. */
const LEAKING_QUERIES = QUERIES / 5;

const variant = process.argv[2] === 'serve' ? process.argv[3] : undefined;
if (variant === undefined) {
  console.log(`Resident memory of a table of ${ITEM_COUNT} items of ${ITEM_BYTES} bytes, by query`);
  await measure('local AWS', QUERIES);
  await measure('dynalite as it comes', LEAKING_QUERIES);
} else {
  await serve(variant);
}

/** Serves the table alone in its own process, so that the client's memory is not counted. */
async function serve(name: string): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), 'table-memory-'));
  const server = name === 'local AWS' ? await mendedServer(path) : dynalite({ path, createTableMs: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
  process.on('message', () => process.send?.(residentBytes()));
  process.on('disconnect', () => {
    rmSync(path, { recursive: true, force: true });
    process.exit(0);
  });
}

async function measure(name: string, queryCount: number): Promise<void> {
  console.log(`\n${name}`);
  const child = fork(import.meta.filename, ['serve', name], { execArgv: ['--expose-gc'] });
  const nextNumber = async () => ((await once(child, 'message')) as [number])[0];
  const endpoint = `http://127.0.0.1:${await nextNumber()}`;
  const bytesNow = () => {
    const answer = nextNumber();
    child.send('resident bytes');
    return answer;
  };
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  await fill(client);
  const marks = [{ queries: 0, bytes: await bytesNow() }];
  for (let queries = 0; queries < queryCount; ) {
    const step = Math.min(STEP_QUERIES, queryCount - queries);
    await query(client, step);
    queries += step;
    const bytes = await bytesNow();
    marks.push({ queries, bytes });
    console.log(`  ${String(queries).padStart(7)} queries  ${(bytes / 2 ** 20).toFixed(0).padStart(5)} MiB`);
  }
  const settled = marks.filter(({ queries }) => queries >= Math.min(WARM_UP_QUERIES, queryCount / 2));
  console.log(`  ${(slopeOf(settled) / 1_024).toFixed(2)} KiB a query`);
  client.destroy();
  child.disconnect();
  await once(child, 'exit');
}

async function mendedServer(path: string): Promise<Server> {
  const tables = await openLocalDynamoDb(path);
  return createServer((request, response) => tables.handle(request, response));
}

async function fill(client: DynamoDBClient): Promise<void> {
  await createTable(client, tableDefinition(TableName));
  for (let item = 0; item < ITEM_COUNT; item++) {
    const sk = String(item).padStart(6, '0');
    const text = 'x'.repeat(ITEM_BYTES);
    const Item = { pk: { S: 'p' }, sk: { S: sk }, text: { S: text } };
    await client.send(new PutItemCommand({ TableName, Item }));
  }
}

async function query(client: DynamoDBClient, count: number): Promise<void> {
  const command = new QueryCommand({
    TableName,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: 'p' } },
    Limit: 10,
  });
  let left = count;
  const work = async () => {
    while (left-- > 0) await client.send(command);
  };
  await Promise.all(Array.from({ length: QUERIES_AT_ONCE }, work));
}

function residentBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

/** Fits a line by least squares, so one outlier among the marks does not determine the result. */
function slopeOf(marks: readonly { readonly queries: number; readonly bytes: number }[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanQueries = mean(marks.map(({ queries }) => queries));
  const meanBytes = mean(marks.map(({ bytes }) => bytes));
  const products = marks.map((mark) => (mark.queries - meanQueries) * (mark.bytes - meanBytes));
  const squares = marks.map(({ queries }) => (queries - meanQueries) ** 2);
  return mean(products) / mean(squares);
}
