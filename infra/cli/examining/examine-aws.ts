/**
 * Examines what a deployment leaves in AWS: table, indexes, bus, secrets, and whether alerts reach anybody by their
 * topics and incoming webhooks, without a message to them. It says what an error of AWS means for an examination.
 */

import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeEventBusCommand, type EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ListSubscriptionsByTopicCommand, type SNSClient } from '@aws-sdk/client-sns';
import { counted } from '../../../shared/runtime/counted.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { KEYING_CHARACTERS_MIN } from '../../../shared/runtime/secret-key-source.ts';
import { INDEXES } from '../../../shared/store/table.ts';
import { type Surroundings, within } from '../../process/surroundings.ts';
import { type Finding, notChecked, ok, problem } from './examine-bridge.ts';

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

/** Never rejects because of what it finds. */
export function examineTopic(
  sns: Pick<SNSClient, 'send'>,
  check: string,
  topicArn: string,
): Promise<Finding> {
  return guarded(check, async () =>
    judgeSubscriptions(check, topicArn, await subscriptionsOf(sns, topicArn)),
  );
}

/** One page has a hundred subscriptions, and more people are never paged by mail. */
async function subscriptionsOf(sns: Pick<SNSClient, 'send'>, topicArn: string): Promise<readonly string[]> {
  const { Subscriptions = [] } = await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }));
  return Subscriptions.map(({ SubscriptionArn = '' }) => SubscriptionArn);
}

/** SNS shows this in place of an ARN until the person has followed the link of its mail. */
const PENDING = 'PendingConfirmation';

function judgeSubscriptions(check: string, topicArn: string, arns: readonly string[]): Finding {
  const pendingCount = arns.filter((arn) => arn === PENDING).length;
  // CloudFormation compares with its own record, in which the removed subscription still is.
  const again = `A deployment does not bring back an address that AWS has removed because it was not confirmed within two days: aws sns subscribe --topic-arn ${topicArn} --protocol email --notification-endpoint <address>`;
  if (arns.length === 0)
    return problem(
      check,
      'No address is subscribed, so what goes there reaches no one.',
      `Set alerts.emails and deploy, or subscribe another target to the topic. ${again}`,
    );
  if (pendingCount > 0)
    return problem(
      check,
      `${pendingCount} of ${arns.length} addresses have not confirmed.`,
      `Ask these people to follow the link in the mail from AWS. ${again}`,
    );
  return ok(check, `Confirmed: ${counted(arns.length, 'address', 'addresses')}.`);
}

const TIMEOUT_MS = 10_000;

const SLACK_ORIGIN = 'https://hooks.slack.com';

/** The notifier sends to no other origin. A server of this machine is for trials. */
function isOfSlack({ origin, hostname }: URL): boolean {
  return origin === SLACK_ORIGIN || hostname === '127.0.0.1';
}

/** Reads the secret with the operator's credentials. Never rejects because of what it finds, and never shows the address. */
export function examineWebhook(
  secrets: Pick<SecretsManagerClient, 'send'>,
  secretId: string,
  surroundings: Surroundings,
): Promise<Finding> {
  const check = `webhook in ${secretId}`;
  return guarded(check, async () => {
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
    const url = URL.parse(SecretString.trim());
    if (url === null || !isOfSlack(url))
      return problem(
        check,
        `The secret is not the address of a webhook at ${SLACK_ORIGIN}.`,
        'Put the address of the webhook into the secret. The token of a bot is not tried here.',
      );
    const answer = await postNothing(url, surroundings);
    return answer === undefined
      ? notChecked(check, 'Slack did not answer.', 'Check the network, and try again.')
      : judgeWebhook(check, answer);
  });
}

/** Slack refuses a message without text before it posts anything, and a revoked webhook before that. */
async function postNothing(
  url: URL,
  { clock, signal }: Surroundings,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    return await within(TIMEOUT_MS, { clock, signal }, async (inTime) => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
        redirect: 'error',
        signal: inTime,
      });
      return { status: answer.status, text: (await answer.text()).trim() };
    });
  } catch {
    return undefined;
  }
}

/** Slack API, "Sending messages using incoming webhooks", "Handling errors". */
const REFUSES_EMPTY = ['no_text', 'invalid_payload'];

function judgeWebhook(
  check: string,
  { status, text }: { readonly status: number; readonly text: string },
): Finding {
  if (status === 400 && REFUSES_EMPTY.includes(text)) return ok(check, 'Slack knows the webhook.');
  if (status === 403 || status === 404 || status === 410)
    return problem(
      check,
      `Slack answered ${status} ${/^[a-z_]{1,40}$/.test(text) ? text : ''}`.trim().concat('.'),
      'The webhook was revoked, or its channel is gone: create another one, and put it into the secret.',
    );
  return notChecked(check, `Slack answered ${status}.`, 'Try again in some minutes.');
}

/** Never rejects: an error of AWS becomes a finding. */
export async function guarded<Result>(
  check: string,
  examine: () => Promise<Result>,
): Promise<Result | Finding> {
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
  if (/AccessDenied|Unauthorized|AuthorizationError|UnrecognizedClient|InvalidClientTokenId/.test(name))
    return notChecked(
      check,
      `These credentials may not look at it (${name}).`,
      'Use credentials that may: docs/operations.md lists the permissions under "Doctor".',
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

/** Never rejects because of what it finds, and never shows the key. */
export function readKeyOfRun(
  secrets: Pick<SecretsManagerClient, 'send'>,
  secretId: string,
): Promise<Secret | Finding> {
  return guarded('upstream key', async () => {
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
    return createSecret(SecretString.trim());
  });
}
