/** A function with a role of its own, which has what is granted here and nothing that CDK would add by itself. */

import { Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type Partition, WRITTEN_ATTRIBUTES } from '../../shared/store/attributes.ts';
import { PARTITIONS } from '../../shared/store/keys.ts';
import { type FunctionName, functionDefinitions } from '../functions.ts';

export interface BridgeFunctionProps {
  readonly functionName: string;
  /** The folder of the bundle. */
  readonly code: lambda.Code;
  readonly environment: Readonly<Record<string, string>>;
  readonly logRetention: logs.RetentionDays;
  readonly reservedConcurrency?: number;
}

export class BridgeFunction extends Construct {
  readonly lambda: lambda.Function;
  readonly role: iam.Role;
  readonly name: FunctionName;

  constructor(scope: Construct, name: FunctionName, props: BridgeFunctionProps) {
    super(scope, name);
    this.name = name;
    const { memoryMb, timeoutMs } = functionDefinitions[name];
    const logGroup = new logs.LogGroup(this, 'Log', {
      logGroupName: `/aws/lambda/${props.functionName}`,
      retention: props.logRetention,
    });
    this.role = new iam.Role(this, 'Role', {
      roleName: `${props.functionName}-${Stack.of(this).region}`,
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      // X-Ray has no resources to name: AWS's own policy says so, and the template stays free of "*".
      managedPolicies: [iam.ManagedPolicy.fromAwsManagedPolicyName('AWSXRayDaemonWriteAccess')],
    });
    this.grant('WriteLog', ['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroup.logGroupArn]);
    this.lambda = new lambda.Function(this, 'Function', {
      functionName: props.functionName,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      handler: 'index.handler',
      code: props.code,
      memorySize: memoryMb,
      timeout: Duration.millis(timeoutMs),
      environment: { ...props.environment },
      logGroup,
      tracing: lambda.Tracing.ACTIVE,
      role: this.role.withoutPolicyUpdates(),
      ...(props.reservedConcurrency !== undefined && {
        reservedConcurrentExecutions: props.reservedConcurrency,
      }),
    });
  }

  /** Items of these partitions are read, and of those updated in the attributes that they have: nothing is deleted or put whole. */
  grantItems(
    tableArn: string,
    { reads, updates }: { readonly reads: readonly Partition[]; readonly updates: readonly Partition[] },
  ): void {
    this.grant('Read', ['dynamodb:GetItem', 'dynamodb:BatchGetItem'], [tableArn], {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': reads.map((name) => PARTITIONS[name]) },
    });
    for (const name of updates) {
      this.grant(
        `Update${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        ['dynamodb:UpdateItem'],
        [tableArn],
        {
          'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [PARTITIONS[name]] },
          'ForAllValues:StringEquals': { 'dynamodb:Attributes': [...WRITTEN_ATTRIBUTES[name]] },
        },
      );
    }
  }

  /** Exactly these actions on exactly these resources. */
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
