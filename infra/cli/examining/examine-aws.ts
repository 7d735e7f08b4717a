/** Examines what a deployment leaves in AWS: table, indexes, bus, secrets, and the addresses of alerts. */

import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeEventBusCommand, type EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SNSClient } from '@aws-sdk/client-sns';
import { KEYING_CHARACTERS_MIN } from '../../../shared/runtime/secret-key-source.ts';
import { INDEXES } from '../../../shared/store/table.ts';
import { guarded } from './aws-error.ts';
import { examineTopic } from './examine-topic.ts';
import { type Finding, ok, problem } from './finding.ts';

export interface AwsClients {
  readonly dynamoDb: Pick<DynamoDBClient, 'send'>;
  readonly eventBridge: Pick<EventBridgeClient, 'send'>;
  readonly secrets: Pick<SecretsManagerClient, 'send'>;
  readonly sns: Pick<SNSClient, 'send'>;
}

export interface AwsPlace {
  readonly table: string;
  readonly bus: string;
  /** The secret that keys the hashes of tokens. */
  readonly pepperSecretId: string;
  /** The other secrets to look at. */
  readonly secretIds: readonly string[];
  /** The topic of e-mail alerts; undefined when the deployment has none. */
  readonly alertTopicArn: string | undefined;
}

/** Never rejects because of what it finds. */
export async function examineAws(clients: AwsClients, place: AwsPlace): Promise<readonly Finding[]> {
  const { dynamoDb, eventBridge, secrets, sns } = clients;
  const { table, bus, pepperSecretId, secretIds, alertTopicArn } = place;
  return Promise.all([
    guarded(`table ${table}`, async () => judgeTable(table, await tableOf(dynamoDb, table))),
    guarded(`bus ${bus}`, async () => {
      await eventBridge.send(new DescribeEventBusCommand({ Name: bus }));
      return ok(`bus ${bus}`, 'The bus exists.');
    }),
    ...[...new Set([pepperSecretId, ...secretIds])].map((id) =>
      guarded(`secret ${id}`, async () => {
        const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }));
        return id === pepperSecretId ? judgePepper(id, SecretString) : judgeSecret(id, SecretString);
      }),
    ),
    ...(alertTopicArn === undefined ? [] : [examineTopic(sns, 'alerts by e-mail', alertTopicArn)]),
  ]);
}

interface TableState {
  readonly status: string | undefined;
  readonly indexes: ReadonlyMap<string, string>;
}

async function tableOf(dynamoDb: AwsClients['dynamoDb'], name: string): Promise<TableState> {
  const { Table } = await dynamoDb.send(new DescribeTableCommand({ TableName: name }));
  const indexes = (Table?.GlobalSecondaryIndexes ?? []).map(
    ({ IndexName = '', IndexStatus = '' }) => [IndexName, IndexStatus] as const,
  );
  return { status: Table?.TableStatus, indexes: new Map(indexes) };
}

function judgeTable(name: string, { status, indexes }: TableState): Finding {
  const check = `table ${name}`;
  const lacking = INDEXES.map((index) => index.name).filter((index) => indexes.get(index) !== 'ACTIVE');
  if (status !== 'ACTIVE') return problem(check, `The table is ${status}.`, 'Wait until it is ACTIVE.');
  if (lacking.length === 0) return ok(check, `The table and its ${INDEXES.length} indexes are active.`);
  return problem(
    check,
    `The table lacks the active index ${lacking.join(', ')}.`,
    'Wait until it is built; deploy this version of the stack if it does not exist.',
  );
}

/** Whoever holds one cookie of the console finds a pepper that is a word. The finding does not say how long it is. */
function judgePepper(id: string, text: string | undefined): Finding {
  const { length } = text?.trim() ?? '';
  if (length === 0 || length >= KEYING_CHARACTERS_MIN) return judgeSecret(id, text);
  return problem(
    `secret ${id}`,
    `The pepper has fewer than ${KEYING_CHARACTERS_MIN} characters, so it can be guessed, and the API refuses it.`,
    'Put a long random text there. That ends all tokens, so issue new ones (docs/deploy/rotate-a-key.md).',
  );
}

function judgeSecret(id: string, text: string | undefined): Finding {
  const check = `secret ${id}`;
  if (text !== undefined && text.trim() !== '') return ok(check, 'The secret can be read.');
  return problem(check, 'The secret is empty.', 'Put its value there (docs/deploy/deploy.md).');
}
