import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Difference, Verdict } from '../../infra/cli/examining/verify-project.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

const TABLE = 'operations-bridge';
const INVENTED_ID = 'd6ad21e4-725d-493f-a495-43867ad88d09';
let bridge: BridgeOnThisMachine;
let table: DynamoDBDocumentClient;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '1', '--seed', '6', '--speed', '20', '--trouble']);
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
  readonly account_id: string;
  readonly project_id: string;
  readonly operation_id: string;
  readonly status: string;
  readonly failures_count: number;
  readonly updated_at: string;
  readonly revision: number;
  readonly published: number;
  readonly work?: string;
  /** `i` is the id of the event, and `b` says which part of the bridge has observed it. */
  readonly entries?: readonly { readonly i: string; readonly b: string }[];
}

/** Only of news it is sure that their chain began with their first event. */
const isNews = ({ entries = [] }: Stored) => entries.length > 0 && entries.every(({ b }) => b !== 'backfill');

async function stored(key: Pick<Stored, 'pk' | 'sk'>): Promise<Stored | undefined> {
  const { pk, sk } = key;
  const { Item } = await table.send(
    new GetCommand({ TableName: TABLE, Key: { pk, sk }, ConsistentRead: true }),
  );
  return Item as unknown as Stored | undefined;
}

/** Operations that have ended and are published, so that the poller does not touch them again. */
async function settledOperations(): Promise<readonly Stored[]> {
  const { Items = [] } = await table.send(new ScanCommand({ TableName: TABLE }));
  return (Items as unknown as readonly Stored[]).filter(
    ({ sk, work, status }) => sk.startsWith('OP#') && work === undefined && status === 'finished',
  );
}

interface Verified {
  readonly code: number;
  readonly differences: readonly Difference[];
  readonly repaired: readonly Difference[];
}

async function verify(...options: readonly string[]): Promise<Verified> {
  const { code, output } = await bridge.run(['verify', '--json', '--requests-per-minute', '600', ...options]);
  const verdicts = output.split('\n').map((line) => JSON.parse(line) as Verdict);
  expect(verdicts.filter(({ not_checked }) => not_checked !== undefined)).toEqual([]);
  return {
    code,
    differences: verdicts.flatMap(({ differences }) => differences),
    repaired: verdicts.flatMap(({ repaired = [] }) => repaired),
  };
}

test('verify finds an operation that was never recorded, a changed row, an invented one and deleted events, and repairs what polls can read', {
  timeout: 300_000,
}, async () => {
  await expect
    .poll(async () => (await settledOperations()).filter(isNews).length, {
      timeout: 200_000,
      interval: 1_000,
    })
    .toBeGreaterThan(3);
  expect(await verify()).toEqual({ code: 0, differences: [], repaired: [] });

  const published = (await settledOperations()).filter(isNews);
  const [forgotten, changed, chained, cut] = published;
  if (forgotten === undefined || changed === undefined || chained === undefined || cut === undefined)
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

  await table.send(
    new UpdateCommand({
      ...keyOf(cut),
      UpdateExpression: `REMOVE entries[${(cut.entries?.length ?? 1) - 1}]`,
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
  expect(new Set(differences.map(({ operation_id }) => operation_id)).size).toBe(5);

  const after = await verify('--repair');

  expect(after.code).toBe(1);
  // What was deleted from a journal stays away, and an invented operation does.
  expect(after.differences.map(({ operation_id }) => operation_id).toSorted()).toEqual(
    [chained.operation_id, cut.operation_id, INVENTED_ID].toSorted(),
  );
  expect(after.repaired.map(({ operation_id }) => operation_id).toSorted()).toEqual(
    [forgotten.operation_id, changed.operation_id].toSorted(),
  );
  expect((await stored(forgotten))?.status).toBe(forgotten.status);
  expect(await stored(changed)).toMatchObject({ status: changed.status, failures_count: 0 });

  for (const each of [invented, chained, cut]) await table.send(new DeleteCommand(keyOf(each)));
  expect(await verify('--repair')).toMatchObject({ code: 0, differences: [] });
});
