/**
 * Deploys the key with which the table, the queues, the topics and the logs are encrypted when the configuration asks for
 * a key of one's own. Without it AWS's keys encrypt them.
 */

import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { BridgeConfig } from '../../config/bridge-config.ts';

/** Who publishes to an encrypted topic, or sends to an encrypted queue, needs both. */
const TO_SEND = ['kms:Decrypt', 'kms:GenerateDataKey'];

/** A role that uses the table needs these, too: DynamoDB asks for them in the name of the caller. */
const TO_USE_ALL = [...TO_SEND, 'kms:DescribeKey', 'kms:Encrypt', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];

/** Returns undefined when the configuration does not ask for a key. */
export function dataKeyOf(scope: Construct, config: BridgeConfig): kms.Key | undefined {
  if (!config.customer_managed_key) return undefined;
  const key = new kms.Key(scope, 'DataKey', {
    alias: config.name,
    description: `Encrypts the table, queues, topics and logs of ${config.name}`,
    enableKeyRotation: true,
    // The table outlives the stack, and nobody can read it without the key.
    removalPolicy: RemovalPolicy.RETAIN,
  });
  for (const statement of servicesThatUse(Stack.of(scope))) key.addToResourcePolicy(statement);
  return key;
}

/** Returns one statement for each service that sends to a queue or a topic, or writes a log, in its own name. */
function servicesThatUse({ partition, region, account }: Stack): readonly iam.PolicyStatement[] {
  const ofThisAccount = { StringEquals: { 'aws:SourceAccount': account } };
  const senders = {
    AlarmsPublish: 'cloudwatch.amazonaws.com',
    RulesSend: 'events.amazonaws.com',
    SchedulesSend: 'scheduler.amazonaws.com',
    TopicsDeliver: 'sns.amazonaws.com',
  };
  return [
    ...Object.entries(senders).map(
      ([sid, service]) =>
        new iam.PolicyStatement({
          sid,
          principals: [new iam.ServicePrincipal(service)],
          actions: TO_SEND,
          resources: ['*'],
          conditions: ofThisAccount,
        }),
    ),
    new iam.PolicyStatement({
      sid: 'LogsWrite',
      principals: [new iam.ServicePrincipal(`logs.${region}.amazonaws.com`)],
      actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'],
      resources: ['*'],
      // CloudWatch Logs names the account in what it encrypts, and not as its source.
      conditions: {
        ArnLike: {
          'kms:EncryptionContext:aws:logs:arn': `arn:${partition}:logs:${region}:${account}:log-group:*`,
        },
      },
    }),
  ];
}

/** Allows a function to use the key, only through the services that keep its data. */
export function useOf(key: kms.IKey): iam.PolicyStatement {
  const { region } = Stack.of(key);
  return new iam.PolicyStatement({
    sid: 'DataKey',
    actions: TO_USE_ALL,
    resources: [key.keyArn],
    conditions: {
      StringEquals: {
        'kms:ViaService': ['dynamodb', 'sqs', 'sns'].map((service) => `${service}.${region}.amazonaws.com`),
      },
    },
  });
}

/** Returns what an encrypted queue allows the role of a schedule to do beside sending. */
export function sendWith(key: kms.IKey): iam.PolicyStatement {
  return new iam.PolicyStatement({ actions: TO_SEND, resources: [key.keyArn] });
}

/** Returns the encryption of a queue. AWS's own key costs nothing. */
export function queueEncryption(key: kms.IKey | undefined) {
  return key === undefined ? {} : { encryptionMasterKey: key };
}
