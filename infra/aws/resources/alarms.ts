/**
 * Deploys every alarm, and the topic that alarms go to. Each alarm says what it means for people, and where to read
 * what to do.
 */

import { Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as sns from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { BridgeConfig } from '../../bridge-config.ts';
import type { Api } from './api.ts';
import {
  alertAlarms,
  apiAlarms,
  callbackAlarms,
  commandAlarms,
  deliveryAlarms,
  functionAlarms,
  pollerFailureAlarm,
  pollingAlarms,
  reservationAlarms,
} from './bridge-alarms.ts';
import type { BridgeBus } from './bridge-bus.ts';
import type { Commands } from './commands.ts';
import type { AlarmDefinition } from './metrics.ts';
import type { Notifier } from './notifier.ts';
import type { Poller } from './poller.ts';

export interface AlarmParts {
  readonly dataKey: kms.IKey | undefined;
  readonly config: BridgeConfig;
  readonly events: BridgeBus;
  readonly poller: Poller;
  readonly api: Api;
  readonly commands: Commands;
  readonly notifier: Notifier;
}

/** The project has no public address, so a description names this file of it when no address of a copy is set. */
export const RUNBOOK_FILE = 'docs/operations.md';

export class Alarms extends Construct {
  constructor(scope: Construct, parts: AlarmParts) {
    super(scope, 'Alarms');
    const action = new SnsAction(alarmTopic(this, parts.config, parts.dataKey));
    for (const definition of definitionsOf(parts)) {
      const { name, means, metric, threshold, isBelow, periods = 1, missing } = definition;
      const article = name.replace(/:.*/, '');
      const alarm = new cloudwatch.Alarm(this, name.replaceAll(':', '-'), {
        alarmName: `${parts.config.name}-${name.replaceAll(':', '-')}`,
        alarmDescription: `${means} Runbook: ${parts.config.runbook_url ?? RUNBOOK_FILE}#${article}`,
        metric,
        threshold,
        evaluationPeriods: periods,
        comparisonOperator: isBelow
          ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
          : cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treatMissingData: missing ?? cloudwatch.TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }
}

function definitionsOf(parts: AlarmParts): readonly AlarmDefinition[] {
  const { config, events, poller, api, commands, notifier } = parts;
  return [
    ...pollingAlarms(config),
    ...deliveryAlarms(events),
    ...alertAlarms(config.name, notifier),
    ...apiAlarms(config.name, api),
    ...commandAlarms(config.name, commands),
    ...callbackAlarms(config),
    pollerFailureAlarm(poller.failures),
    // An invocation of the poller that fails, is killed or does not begin is in its queue of failures, which has the alarm above.
    ...[api.fn, commands.fn, notifier.fn].flatMap(functionAlarms),
    ...reservationAlarms(api.fn, config.reserved_concurrency.api),
  ];
}

/**
 * Allows CloudWatch by name, because `enforceSSL` writes a policy that only denies, and a topic with a policy of its
 * own loses the one that SNS gives every topic (Amazon SNS Developer Guide, "Example cases for Amazon SNS access
 * control").
 */
function alarmTopic(
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
