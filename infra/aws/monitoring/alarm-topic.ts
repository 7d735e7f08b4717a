/**
 * Makes the topic that alarms go to. CloudWatch may publish to it for the alarms of this bridge, and nothing else
 * uses it.
 */

import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as sns from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import type { BridgeConfig } from '../../config/bridge-config.ts';

/**
 * Allows CloudWatch by name, because `enforceSSL` writes a policy that only denies, and a topic with a policy of its
 * own loses the one that SNS gives every topic (Amazon SNS Developer Guide, "Example cases for Amazon SNS access
 * control").
 */
export function alarmTopic(
  scope: Construct,
  { name, alerts }: BridgeConfig,
  dataKey: kms.IKey | undefined,
): sns.Topic {
  const topic = new sns.Topic(scope, 'Topic', {
    topicName: `${name}-alarms`,
    enforceSSL: true,
    ...(dataKey && { masterKey: dataKey }),
  });
  const { partition, region, account } = Stack.of(scope);
  topic.addToResourcePolicy(
    new iam.PolicyStatement({
      sid: 'AlarmsOfThisBridgePublish',
      principals: [new iam.ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: {
        StringEquals: { 'aws:SourceAccount': account },
        ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${name}-*` },
      },
    }),
  );
  for (const email of alerts.emails) topic.addSubscription(new EmailSubscription(email));
  return topic;
}
