/**
 * Deploys a function with a role of its own, which has only what is granted here and nothing that CDK would add by
 * itself.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as destinations from 'aws-cdk-lib/aws-lambda-destinations';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { apiAccess } from '../../../functions/api/access.ts';
import { commandsAccess } from '../../../functions/commands/access.ts';
import { notifierAccess } from '../../../functions/notifier/access.ts';
import { pollerAccess } from '../../../functions/poller/access.ts';
import { ENVIRONMENT_FILE } from '../../../shared/runtime/read-config.ts';
import { ACKNOWLEDGED_WORK, MUTES_WORK, PARTITIONS } from '../../../shared/store/keys.ts';
import type { Access, Partition } from '../../../shared/store/table-access.ts';
import { type FunctionName, functionDefinitions } from '../../functions.ts';
import { sendTo } from './bridge-bus.ts';
import { useOf } from './state.ts';

export interface BridgeFunctionProps {
  readonly functionName: string;
  /** The bundle is in this folder. Variables that are too long for the environment are written into it. */
  readonly bundle: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly logRetention: logs.RetentionDays;
  /** It encrypts the table, queues, topics and logs, when the configuration asks for it. */
  readonly dataKey: kms.IKey | undefined;
  readonly reservedConcurrency?: number;
  /** The default is that of the function's definition. */
  readonly memoryMb?: number;
}

/** These settings differ between functions of the same code. */
interface FunctionSettings {
  readonly functionName: string;
  readonly memoryMb: number;
  /** It is added to the environment that all of them have. */
  readonly environment: Readonly<Record<string, string>>;
}

export class BridgeFunction extends Construct {
  readonly lambda: lambda.Function;
  readonly role: iam.Role;
  readonly name: FunctionName;
  readonly logGroupName: string;
  readonly #create: (scope: Construct, id: string, settings: FunctionSettings) => lambda.Function;

  constructor(scope: Construct, name: FunctionName, props: BridgeFunctionProps) {
    super(scope, name);
    this.name = name;
    this.logGroupName = `/aws/lambda/${props.functionName}`;
    const { memoryMb, timeoutMs } = functionDefinitions[name];
    const { fromProcess, fromFile } = dividedEnvironment(name, props.environment);
    writeFileSync(join(props.bundle, ENVIRONMENT_FILE), JSON.stringify(fromFile));
    const logGroup = new logs.LogGroup(this, 'Log', {
      logGroupName: this.logGroupName,
      retention: props.logRetention,
      // A first deployment that fails takes the log back, because the next one would fail at its name.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      ...(props.dataKey && { encryptionKey: props.dataKey }),
    });
    this.role = new iam.Role(this, 'Role', {
      roleName: `${props.functionName}-${Stack.of(this).region}`,
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      // X-Ray has no resources to name. AWS's managed policy allows it, and the template stays free of "*".
      managedPolicies: [iam.ManagedPolicy.fromAwsManagedPolicyName('AWSXRayDaemonWriteAccess')],
    });
    this.grant('WriteLog', ['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroup.logGroupArn]);
    if (props.dataKey !== undefined) this.role.addToPolicy(useOf(props.dataKey));
    this.#create = (parent, id, settings) =>
      new lambda.Function(parent, id, {
        functionName: settings.functionName,
        runtime: lambda.Runtime.NODEJS_24_X,
        architecture: lambda.Architecture.ARM_64,
        handler: 'index.handler',
        code: lambda.Code.fromAsset(props.bundle),
        memorySize: settings.memoryMb,
        timeout: Duration.millis(timeoutMs),
        environment: { ...fromProcess, ...settings.environment },
        logGroup,
        tracing: lambda.Tracing.ACTIVE,
        role: this.role.withoutPolicyUpdates(),
        ...(props.reservedConcurrency !== undefined && {
          reservedConcurrentExecutions: props.reservedConcurrency,
        }),
      });
    this.lambda = this.#create(this, 'Function', {
      functionName: props.functionName,
      memoryMb: props.memoryMb ?? memoryMb,
      environment: {},
    });
  }

  /** Deploys the same code once more under another name. It has the same role, log and reservation. */
  again(id: string, settings: FunctionSettings): lambda.Function {
    return this.#create(this, id, settings);
  }

  /**
   * Grants the function's own part of the table: for each partition, the attributes that it reads and those that it
   * updates. It may delete nothing and put no whole item (IAM User Guide, "DynamoDB: Allows access to specific
   * attributes").
   */
  grantItems(tableArn: string): void {
    const { reads, readsMany, updates }: Access = ACCESS[this.name];
    const onlyThese = { StringEqualsIfExists: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' } };
    const onlyWritten = { StringEqualsIfExists: { 'dynamodb:ReturnValues': ['NONE', 'UPDATED_NEW'] } };
    for (const [partition, attributes] of entriesOf(reads)) {
      const many = readsMany.includes(partition) ? ['dynamodb:BatchGetItem'] : [];
      this.grant(`Read${capitalised(partition)}`, ['dynamodb:GetItem', ...many], [tableArn], {
        ...within(partition, attributes),
        ...onlyThese,
      });
    }
    for (const [partition, attributes] of entriesOf(updates))
      this.grant(`Update${capitalised(partition)}`, ['dynamodb:UpdateItem'], [tableArn], {
        ...within(partition, attributes),
        ...onlyWritten,
      });
  }

  /** Grants reading the keys in these partitions of these indexes. */
  grantQuery(id: string, indexArns: readonly string[], partitions: readonly string[]): void {
    this.grant(`Query${id}`, ['dynamodb:Query'], indexArns, {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...partitions] },
    });
  }

  /** Grants reading all items of a partition together, with the attributes that the function reads of them. */
  grantPartition(tableArn: string, partition: Partition): void {
    const { reads }: Access = ACCESS[this.name];
    this.grant(`QueryAll${capitalised(partition)}`, ['dynamodb:Query'], [tableArn], {
      ...within(partition, reads[partition] ?? []),
      StringEqualsIfExists: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
    });
  }

  /**
   * Grants reading the keys in the partitions of these indexes whose names are account ids. Accounts come while the
   * bridge runs, so the statement names what is no account: every other name has a number sign, or stands here.
   */
  grantQueryOfAccounts(id: string, indexArns: readonly string[]): void {
    this.grant(`Query${id}`, ['dynamodb:Query'], indexArns, {
      'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['*#*', MUTES_WORK, ACKNOWLEDGED_WORK] },
    });
  }

  /** Grants exactly these actions on exactly these resources. */
  grant(
    id: string,
    actions: readonly string[],
    resources: readonly string[],
    conditions?: Readonly<Record<string, object>>,
  ): void {
    this.role.addToPolicy(
      new iam.PolicyStatement({
        sid: id,
        actions: [...actions],
        resources: [...resources],
        ...(conditions && { conditions }),
      }),
    );
  }
}

/**
 * Divides the variables. Those that grow with the configuration go into a file beside the code, because Lambda takes
 * 4 KB. The file contains names and ARNs of secrets, and no secret.
 */
function dividedEnvironment(name: FunctionName, environment: Readonly<Record<string, string>>) {
  const filed: readonly string[] = functionDefinitions[name].filed;
  const unknown = filed.filter((key) => Token.isUnresolved(environment[key]));
  if (unknown.length > 0)
    throw new Error(`${unknown.join(', ')} is known only when the stack is deployed: take it out of filed`);
  const those = (isFiled: boolean) =>
    Object.fromEntries(Object.entries(environment).filter(([key]) => filed.includes(key) === isFiled));
  return { fromProcess: those(false), fromFile: those(true) };
}

function within(partition: Partition, attributes: readonly string[]) {
  return {
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [PARTITIONS[partition]] },
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': [...attributes] },
  };
}

function entriesOf(attributes: Access['reads']): readonly (readonly [Partition, readonly string[]])[] {
  return Object.entries(attributes) as [Partition, readonly string[]][];
}

function capitalised(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

export interface SweepProps {
  readonly name: string;
  readonly everyMs: number;
  readonly fn: lambda.IFunction;
  /** What the function did not take, and where it failed, goes to this queue. The function's role has to allow that. */
  readonly undelivered: sqs.Queue;
}

/** The next sweep is the retry of one that failed. */
export function addSweep(scope: Construct, { name, everyMs, fn, undelivered }: SweepProps): void {
  fn.configureAsyncInvoke({
    retryAttempts: 0,
    maxEventAge: Duration.seconds(60),
    onFailure: new destinations.SqsDestination(undelivered),
  });
  const role = new iam.Role(scope, 'SweepRole', {
    assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  });
  role.addToPolicy(
    new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [fn.functionArn] }),
  );
  for (const statement of sendTo(undelivered)) role.addToPolicy(statement);
  new scheduler.CfnSchedule(scope, 'Sweep', {
    name,
    scheduleExpression: `rate(${everyMs / 60_000} minute)`,
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: fn.functionArn,
      roleArn: role.roleArn,
      input: '{}',
      retryPolicy: { maximumRetryAttempts: 0 },
      deadLetterConfig: { arn: undelivered.queueArn },
    },
  });
}

export const ACCESS = {
  poller: pollerAccess,
  api: apiAccess,
  notifier: notifierAccess,
  commands: commandsAccess,
} as const;

export type Role = keyof typeof ACCESS;
