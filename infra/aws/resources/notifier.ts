/**
 * Deploys the notifier: a rule that fills a queue with a dead-letter queue, the function, a schedule that invokes it every minute, and
 * the topic to which it publishes mails.
 */

import { Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { CHANNEL_KINDS, secretArnOf } from '../../../functions/notifier/channels/channels.ts';
import { alertRulePattern } from '../../../functions/notifier/deciding/notice-of-event.ts';
import type { NotifierEnvironment } from '../../../functions/notifier/environment.ts';
import { notifierQueue, notifierSchedule } from '../../../functions/notifier/environment.ts';
import {
  ACKNOWLEDGED_WORK,
  alertListOf,
  alertWorkOf,
  incidentsListOf,
  MUTES_WORK,
} from '../../../shared/store/keys.ts';
import { LIST_INDEX, WORK_INDEX } from '../../../shared/store/table.ts';
import type { BridgeConfig } from '../../bridge-config.ts';
import type { BridgeBus } from './bridge-bus.ts';
import { addSweep, BridgeFunction, type BridgeFunctionProps } from './bridge-function.ts';
import type { State } from './state.ts';
import { queueEncryption } from './state.ts';

export interface NotifierProps {
  readonly config: BridgeConfig;
  readonly state: State;
  readonly events: BridgeBus;
  readonly consoleBaseUrl: string;
  readonly common: Omit<BridgeFunctionProps, 'environment' | 'functionName'>;
}

/** AWS accepts no fewer instances here. Messages can wait in the queue, and other functions keep their instances. */
const CONSUMERS_MAX = 2;

export class Notifier extends Construct {
  readonly fn: BridgeFunction;
  readonly queue: sqs.Queue;
  readonly deadLetters: sqs.Queue;
  readonly topic: sns.Topic;

  constructor(
    scope: Construct,
    { config, state, events: bridgeEvents, consoleBaseUrl, common }: NotifierProps,
  ) {
    super(scope, 'Notifier');
    this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
      queueName: `${config.name}-alerts-dead-letters`,
      retentionPeriod: Duration.days(14),
      enforceSSL: true,
      ...queueEncryption(common.dataKey),
    });
    this.queue = new sqs.Queue(this, 'Queue', {
      queueName: `${config.name}-alerts`,
      visibilityTimeout: Duration.millis(notifierQueue.visibilityTimeoutMs),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: notifierQueue.receiveCountMax },
      enforceSSL: true,
      ...queueEncryption(common.dataKey),
    });
    this.topic = new sns.Topic(this, 'Topic', {
      topicName: `${config.name}-alerts`,
      enforceSSL: true,
      ...(common.dataKey && { masterKey: common.dataKey }),
    });
    for (const email of config.alerts.emails) this.topic.addSubscription(new EmailSubscription(email));
    this.fn = new BridgeFunction(this, 'notifier', {
      ...common,
      functionName: `${config.name}-notifier`,
      environment: this.environmentOf(config, state, consoleBaseUrl),
    });
    bridgeEvents.ruleToQueue(this, 'Rule', {
      name: `${config.name}-alerts`,
      eventPattern: alertRulePattern,
      queue: this.queue,
    });
    new lambda.EventSourceMapping(this, 'Source', {
      target: this.fn.lambda,
      eventSourceArn: this.queue.queueArn,
      batchSize: notifierQueue.batchSize,
      reportBatchItemFailures: true,
      maxConcurrency: CONSUMERS_MAX,
    });
    // This invokes the function every minute, for digests whose window has closed and for what an outage left unreported.
    addSweep(this, {
      name: `${config.name}-alerts-sweep`,
      everyMs: notifierSchedule.everyMs,
      fn: this.fn.lambda,
      undelivered: bridgeEvents.undelivered,
    });
    this.grantWhatItUses(config, state);
    this.fn.grant('Undelivered', ['sqs:SendMessage'], [bridgeEvents.undelivered.queueArn]);
  }

  private environmentOf(config: BridgeConfig, state: State, consoleBaseUrl: string): Record<string, string> {
    const environment: Partial<NotifierEnvironment> = {
      TABLE_NAME: state.table.tableName,
      ALERT_POLICY: JSON.stringify(config.alerts.policy),
      CONSOLE_BASE_URL: consoleBaseUrl,
      ...(config.runbook_url !== undefined && { RUNBOOK_URL: config.runbook_url }),
      POWERTOOLS_SERVICE_NAME: 'notifier',
    };
    return { ...(environment as Record<string, string>), ...this.channelEnvironmentOf(config) };
  }

  /** Returns, for each channel, the ARN of its secret and of the mail topic, as far as it needs them. */
  private channelEnvironmentOf({ alerts }: BridgeConfig): Record<string, string> {
    return Object.fromEntries(
      CHANNEL_KINDS.flatMap((kind) => {
        const secretArn = secretArnOf(kind, alerts);
        return [
          ...(kind.secret !== undefined && secretArn !== undefined
            ? [[kind.secret.variable, secretArn]]
            : []),
          ...(kind.topicVariable === undefined ? [] : [[kind.topicVariable, this.topic.topicArn]]),
        ];
      }),
    );
  }

  private grantWhatItUses(config: BridgeConfig, state: State): void {
    this.fn.grantItems(state.table.tableArn);
    this.fn.grantQuery(
      'Work',
      [state.indexArn(WORK_INDEX.name)],
      [alertWorkOf('*'), MUTES_WORK, ACKNOWLEDGED_WORK],
    );
    const lists = (['critical', 'warning', 'info', 'reminders'] as const).map((part) =>
      alertListOf('*', part),
    );
    this.fn.grantQuery('List', [state.indexArn(LIST_INDEX.name)], [...lists, incidentsListOf('*', 'open')]);
    this.fn.grant(
      'Queue',
      ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
      [this.queue.queueArn],
    );
    this.fn.grant('Mail', ['sns:Publish'], [this.topic.topicArn]);
    for (const kind of CHANNEL_KINDS) {
      const secretArn = secretArnOf(kind, config.alerts);
      if (secretArn !== undefined)
        this.fn.grant(sidOf(kind.name), ['secretsmanager:GetSecretValue'], [secretArn]);
    }
  }
}

/** Returns the id of a policy's statement, which takes letters and digits alone. */
function sidOf(channelName: string): string {
  return `${channelName.charAt(0).toUpperCase()}${channelName.slice(1)}`;
}
