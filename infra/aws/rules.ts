/**
 * Applies the AWS Solutions rules to the whole template. Each accepted finding is listed for one resource, with the
 * reason.
 */

import { type App, type Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { Construct } from 'constructs';
import type { BridgeConfig } from '../bridge-config.ts';

export interface Acknowledged {
  readonly id: string;
  /** These are paths of constructs in the stack. The same finding anywhere else is reported. */
  readonly at: readonly string[];
  readonly reason: string;
}

/** The secrets with upstream keys have names that begin with this part of the finding. */
const UPSTREAM_KEYS =
  'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:NAME/upstream-keys/*]';

const RULES_OF_THE_BUS =
  'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:rule/NAME/*]';

/** `NAME` stands for the name of the bridge. */
export const ACKNOWLEDGED: readonly Acknowledged[] = [
  {
    id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/AWSXRayDaemonWriteAccess]',
    at: ['Poller/poller/Role', 'Api/api/Role', 'Commands/commands/Role', 'Notifier/notifier/Role'],
    reason: 'X-Ray has no resource-level permissions; the managed policy keeps "*" out of our own statements',
  },
  {
    id: UPSTREAM_KEYS,
    at: ['Poller/poller/Role', 'Api/api/Role', 'Commands/commands/Role'],
    reason: 'Accounts are added while the bridge runs; only upstream keys have names that begin like this',
  },
  {
    id: 'AwsSolutions-IAM5[Resource::*]',
    at: ['Api/api/Role'],
    reason:
      'events:ListRules and cloudwatch:GetMetricData know no resources (Service Authorization Reference)',
  },
  {
    id: RULES_OF_THE_BUS,
    at: ['Api/api/Role'],
    reason: 'Subscribers add rules to the bus at any time, and the API may only list the targets of these',
  },
  {
    id: 'AwsSolutions-APIG4',
    at: [
      'Api/HttpApi/ANY--api--v2--{proxy+}',
      'Api/HttpApi/ANY--bridge--v1--{proxy+}',
      'Api/HttpApi/ANY--console--{proxy+}',
      'Api/HttpApi/GET--',
      'Api/HttpApi/GET--console',
    ],
    reason:
      'The function authenticates every route but the documentation and the redirect of the root (default deny, tested); tokens of the bridge are no JWTs',
  },
  {
    id: 'AwsSolutions-SMG4',
    at: ['CommandsQueue/Key'],
    reason: 'A new value ends the commands that wait, and the key leaves no process and is seen by no person',
  },
  {
    id: 'AwsSolutions-SQS3',
    at: [
      'Events/CanaryQueue',
      'Events/Undelivered',
      'Poller/Failures',
      'CommandsQueue/DeadLetters',
      'Notifier/DeadLetters',
    ],
    reason: 'Dead-letter queues, and the queue of the canary, which has no reader, need none of their own',
  },
];

export function checkRules(app: App, stack: Stack, { name, api }: BridgeConfig): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const chosen = api.dead_letter_queue_arns.map((arn) => ({
    id: `AwsSolutions-IAM5[Resource::${arn}]`,
    at: ['Api/api/Role'],
    reason: 'The configuration names these dead-letter queues, of which the API may read the length',
  }));
  for (const { id, at, reason } of [...ACKNOWLEDGED, ...chosen])
    for (const path of at)
      Validations.of(constructAt(stack, path)).acknowledge({ id: id.replace('NAME', name), reason });
}

/** Throws when there is no such construct, because a reason without its resource is never looked at again. */
function constructAt(stack: Stack, path: string) {
  return path.split('/').reduce((construct, id) => construct.node.findChild(id), stack as Construct);
}
