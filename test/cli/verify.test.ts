import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  PutCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Difference } from '../../infra/cli/verifying/compare-operations.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

const TABLE = 'operations-bridge';
const INVENTED_ID = 'd6ad21e4-725d-493f-a495-43867ad88d09';
let bridge: BridgeOnThisMachine;
let table: DynamoDBDocumentClient;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '1', '--seed', '6', '--speed', '20']);
  const file = join(bridge.environment['HOME'] ?? '', '.local/state/operations-bridge/local-run.json');
  const { aws_endpoint: endpoint, access_key_id: accessKeyId } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as Record<string, string>;
  const credentials = { accessKeyId: accessKeyId ?? '', secretAccessKey: 'unused' };
  table = DynamoDBDocumentClient.from(
    new DynamoDBClient({ endpoint: endpoint ?? '', region: 'us-east-1', credentials }),
  );
}, 180_000);

afterAll(async () => {
  table.destroy();
  await bridge[Symbol.asyncDispose]();
});

interface Stored {
  readonly pk: string;
  readonly sk: string;
  readonly operation_id: string;
  readonly status: string;
  readonly work?: string;
  readonly entries?: readonly object[];
}

/** Operations that have ended and are published, so that the poller does not touch them again. */
async function settledOperations(): Promise<readonly Stored[]> {
  const { Items = [] } = await table.send(new ScanCommand({ TableName: TABLE }));
  return (Items as unknown as readonly Stored[]).filter(
    ({ sk, work, status }) => sk.startsWith('OP#') && work === undefined && status === 'finished',
  );
}

async function verify(): Promise<{ readonly code: number; readonly differences: readonly Difference[] }> {
  const { code, output } = await bridge.run(['verify', '--json', '--requests-per-minute', '600']);
  const verdicts = output
    .split('\n')
    .map((line) => JSON.parse(line) as { differences: readonly Difference[]; not_checked?: string });
  expect(verdicts.filter(({ not_checked }) => not_checked !== undefined)).toEqual([]);
  return { code, differences: verdicts.flatMap(({ differences }) => differences) };
}

test('verify finds an operation that was never recorded, a changed row, an invented one and a deleted event', {
  timeout: 300_000,
}, async () => {
  await expect
    .poll(async () => (await settledOperations()).filter(({ entries = [] }) => entries.length > 0).length, {
      timeout: 200_000,
      interval: 1_000,
    })
    .toBeGreaterThan(3);
  expect(await verify()).toEqual({ code: 0, differences: [] });

  const published = (await settledOperations()).filter(({ entries = [] }) => entries.length > 0);
  const [forgotten, changed, chained] = published;
  if (forgotten === undefined || changed === undefined || chained === undefined)
    throw new Error('too few operations');
  const keyOf = ({ pk, sk }: Stored) => ({ TableName: TABLE, Key: { pk, sk } });
  await table.send(new DeleteCommand(keyOf(forgotten)));
  const invented = { ...forgotten, operation_id: INVENTED_ID, sk: `OP#${INVENTED_ID}` };
  await table.send(new PutCommand({ TableName: TABLE, Item: invented }));
  await table.send(
    new UpdateCommand({
      ...keyOf(changed),
      UpdateExpression: 'SET failures_count = :n',
      ExpressionAttributeValues: { ':n': 7 },
    }),
  );
  await table.send(
    new UpdateCommand({
      ...keyOf(chained),
      UpdateExpression: 'REMOVE entries[0]',
    }),
  );

  const { code, differences } = await verify();
  const found = differences.map(({ operation_id, kind }) => [operation_id, kind]);
  expect(code).toBe(1);
  expect(found).toEqual(
    expect.arrayContaining([
      [forgotten.operation_id, 'missing'],
      [changed.operation_id, 'different'],
      [chained.operation_id, 'chain'],
      [INVENTED_ID, 'invented'],
    ]),
  );
  expect(found).toHaveLength(4);
});
