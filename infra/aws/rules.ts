/** The AWS Solutions rules over the whole template. Each finding that stays is one that somebody decided about, with the reason. */

import { type App, type Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';

const ACKNOWLEDGED: readonly { readonly id: string; readonly reason: string }[] = [
  {
    id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/AWSXRayDaemonWriteAccess]',
    reason: 'X-Ray has no resource-level permissions; the managed policy keeps "*" out of our own statements',
  },
  {
    id: 'AwsSolutions-APIG4',
    reason:
      'The function authenticates every route but the documentation (default deny, tested); tokens of the bridge are no JWTs',
  },
  {
    id: 'AwsSolutions-SQS3',
    reason: 'Dead-letter queues, and the queue of the canary, which nobody reads, need none of their own',
  },
  {
    id: 'AwsSolutions-APIG1',
    reason: 'Access logging is set on the stage, which the rule looks for on the API',
  },
];

export function checkRules(app: App, stack: Stack): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  for (const { id, reason } of ACKNOWLEDGED) Validations.of(stack).acknowledge({ id, reason });
}
