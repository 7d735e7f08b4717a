/**
 * Deploys what the bridge keeps: the table, from the definition that the local stand-in also uses, and the key with
 * which tables, queues, topics and logs are encrypted when the configuration asks for one. It also names the secrets
 * that hold upstream keys.
 */

import { Aws, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { accountRulesVariables } from '../../../shared/config/account-rules.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { type BridgeConfig, upstreamHostsOf } from '../../bridge-config.ts';

const TTL_ATTRIBUTE = 'expires_at';

export class State extends Construct {
  readonly table: dynamodb.Table;

  constructor(
    scope: Construct,
    { tableName, dataKey }: { readonly tableName: string; readonly dataKey: kms.IKey | undefined },
  ) {
    super(scope, 'State');
    const { KeySchema, GlobalSecondaryIndexes } = tableDefinition(tableName);
    this.table = new dynamodb.Table(this, 'Table', {
      tableName,
      ...keysOf(KeySchema),
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TTL_ATTRIBUTE,
      deletionProtection: true,
      ...(dataKey === undefined
        ? { encryption: dynamodb.TableEncryption.AWS_MANAGED }
        : { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey: dataKey }),
      // AWS deletes no protected table, so even a first deployment that fails leaves it behind.
      removalPolicy: RemovalPolicy.RETAIN,
    });
    for (const { IndexName = '', KeySchema: keys } of GlobalSecondaryIndexes ?? []) {
      this.table.addGlobalSecondaryIndex({
        indexName: IndexName,
        ...keysOf(keys),
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
      });
    }
  }

  indexArn(name: string): string {
    return `${this.table.tableArn}/index/${name}`;
  }
}

function keysOf(
  schema: readonly {
    readonly AttributeName?: string | undefined;
    readonly KeyType?: string | undefined;
  }[] = [],
) {
  const attribute = (type: string) => {
    const name = schema.find(({ KeyType }) => KeyType === type)?.AttributeName ?? '';
    return { name, type: dynamodb.AttributeType.STRING };
  };
  return { partitionKey: attribute('HASH'), sortKey: attribute('RANGE') };
}

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

/** Returns what the names of the secrets begin with. */
function upstreamKeysPrefix({ name }: BridgeConfig): string {
  return `${name}/upstream-keys/`;
}

/** Returns the pattern of the ARNs of these secrets, in the region and the AWS account of the stack. */
export function upstreamKeysArn(config: BridgeConfig): string {
  return `arn:${Aws.PARTITION}:secretsmanager:${Aws.REGION}:${Aws.ACCOUNT_ID}:secret:${upstreamKeysPrefix(config)}*`;
}

/** Returns the variables of a function that serves accounts of the table. */
export function accountRulesEnvironment(
  config: BridgeConfig,
): Record<keyof typeof accountRulesVariables, string> {
  return {
    UPSTREAM_HOSTS: JSON.stringify(upstreamHostsOf(config)),
    UPSTREAM_KEYS_PREFIX: upstreamKeysPrefix(config),
  };
}
