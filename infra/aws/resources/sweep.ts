/** Invokes a function at a fixed rate, for work that no message announces. */

import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { sendTo } from './bridge-bus.ts';

export interface SweepProps {
  readonly name: string;
  readonly everyMs: number;
  readonly fn: lambda.IFunction;
  /** What the function did not take goes to this queue. */
  readonly undelivered: sqs.Queue;
}

/** The next sweep is the retry of one that failed. */
export function addSweep(scope: Construct, { name, everyMs, fn, undelivered }: SweepProps): void {
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
