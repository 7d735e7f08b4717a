/** Examines what a deployment leaves in AWS: table, indexes, bus, secrets, and the addresses of alerts. */

import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeEventBusCommand, type EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ListSubscriptionsByTopicCommand, type SNSClient } from '@aws-sdk/client-sns';
import { toError } from '../../../shared/runtime/errors.ts';
import { INDEXES } from '../../../shared/store/table.ts';
import { type Finding, notChecked, ok, problem } from './finding.ts';

export interface AwsClients {
  readonly dynamoDb: Pick<DynamoDBClient, 'send'>;
  readonly eventBridge: Pick<EventBridgeClient, 'send'>;
  readonly secrets: Pick<SecretsManagerClient, 'send'>;
  readonly sns: Pick<SNSClient, 'send'>;
}

export interface AwsPlace {
  readonly table: string;
  readonly bus: string;
  readonly secretIds: readonly string[];
  /** The topic of e-mail alerts; undefined when the deployment has none. */
  readonly alertTopicArn: string | undefined;
}

/** Never rejects because of what it finds. */
export async function examineAws(clients: AwsClients, place: AwsPlace): Promise<readonly Finding[]> {
  const { dynamoDb, eventBridge, secrets, sns } = clients;
  const { table, bus, secretIds, alertTopicArn } = place;
  return Promise.all([
    guarded(`table ${table}`, async () => judgeTable(table, await tableOf(dynamoDb, table))),
    guarded(`bus ${bus}`, async () => {
      await eventBridge.send(new DescribeEventBusCommand({ Name: bus }));
      return ok(`bus ${bus}`, 'The bus exists.');
    }),
    ...secretIds.map((id) =>
      guarded(`secret ${id}`, async () => {
        const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }));
        return judgeSecret(id, SecretString);
      }),
    ),
    ...(alertTopicArn === undefined
      ? []
      : [
          guarded('alerts by e-mail', async () =>
            judgeSubscriptions(await subscriptionsOf(sns, alertTopicArn)),
          ),
        ]),
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

function judgeSecret(id: string, text: string | undefined): Finding {
  const check = `secret ${id}`;
  if (text !== undefined && text.trim() !== '') return ok(check, 'The secret can be read.');
  return problem(check, 'The secret is empty.', 'Put its value there (docs/deploy/deploy.md).');
}

async function subscriptionsOf(sns: AwsClients['sns'], topicArn: string): Promise<readonly string[]> {
  const { Subscriptions = [] } = await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }));
  return Subscriptions.map(({ SubscriptionArn = '' }) => SubscriptionArn);
}

/** SNS shows this in place of an ARN until the person has followed the link of its mail. */
const PENDING = 'PendingConfirmation';

function judgeSubscriptions(arns: readonly string[]): Finding {
  const check = 'alerts by e-mail';
  const pendingCount = arns.filter((arn) => arn === PENDING).length;
  if (arns.length === 0)
    return problem(
      check,
      'No address is subscribed, so alerts reach no one.',
      'Set alerts.emails, and deploy.',
    );
  if (pendingCount > 0)
    return problem(
      check,
      `${pendingCount} of ${arns.length} addresses have not confirmed.`,
      'Ask these people to follow the link in the mail from AWS; after three days, deploy again.',
    );
  return ok(check, `${arns.length} addresses have confirmed.`);
}

async function guarded(check: string, examine: () => Promise<Finding>): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    return judgeAwsError(check, toError(error));
  }
}

/** A missing permission prevents the check, and anything that does not exist is what it looked for. */
function judgeAwsError(check: string, { name, message }: Error): Finding {
  if (/NotFound/.test(name))
    return problem(check, 'It does not exist.', 'Deploy the stack, or check the name and the region.');
  if (/AccessDenied|Unauthorized|UnrecognizedClient|InvalidClientTokenId/.test(name))
    return notChecked(
      check,
      `These credentials may not look at it (${name}).`,
      'Use credentials that may read it.',
    );
  if (/Credentials/.test(name))
    return notChecked(
      check,
      'There are no AWS credentials.',
      'Set AWS_PROFILE or the keys, or use --skip aws.',
    );
  return notChecked(
    check,
    `AWS did not answer the question (${name}: ${message}).`,
    'Check the region and the network.',
  );
}
