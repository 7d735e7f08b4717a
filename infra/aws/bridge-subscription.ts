/** Subscribes to the events of a bridge from a stack of the CDK, with everything that a delivery needs. */

import { CfnResource, Duration, Names, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import {
  ALARM_TOPIC_SUFFIX,
  DEAD_LETTER_ALARM,
  DEAD_LETTER_RETENTION_SECONDS,
  faultsOf,
  RETRY_POLICY,
  SUBJECT_NAMES,
  type SubjectName,
  type Subscription,
  subscriptionPattern,
} from '../../shared/events/subscription/subscription.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { sendFromRule } from './resources/bridge-bus.ts';

/** Exactly one subject is true, such as `failures: true`. */
type OneSubject = {
  [Subject in SubjectName]: { readonly [Name in Subject]: true } & {
    readonly [Name in Exclude<SubjectName, Subject>]?: never;
  };
}[SubjectName];

export type BridgeSubscriptionProps = OneSubject & {
  /** The bus of the bridge: `name` in bridge.config.ts. The default is `operations-bridge`. */
  readonly busName?: string;
  /** An empty list of a filter limits nothing, as does a filter that is left out. */
  readonly projects?: readonly string[];
  readonly accounts?: readonly string[];
  readonly actions?: readonly string[];
  /** Statuses of operations, states of computes, or outcomes of commands. */
  readonly statuses?: readonly string[];
  /** With `left_out`, the subscriber gets no copies of past events that a replay sends. The default is `included`. */
  readonly replays?: Subscription['replays'];
  /**
   * Any target of `aws-cdk-lib/aws-events-targets`, which also permits the rule to deliver there. Its own retry policy
   * is kept. For its dead-letter queue, see `deadLetterQueue`.
   */
  readonly target: events.IRuleTarget;
  /** Takes events that could not be delivered. By default, a new queue with an alarm keeps them for 14 days. */
  readonly deadLetterQueue?: sqs.IQueue;
};

/**
 * A rule that delivers what people mean by its subject to a target, with a retry policy and a dead-letter queue. Throws
 * `AppError` for a subscription that no event can match, or that EventBridge would refuse.
 */
export class BridgeSubscription extends Construct {
  readonly rule: events.Rule;
  readonly deadLetterQueue: sqs.IQueue;

  constructor(scope: Construct, id: string, props: BridgeSubscriptionProps) {
    super(scope, id);
    const eventPattern = usablePattern(this.node.path, subscriptionOf(props));
    const busName = props.busName ?? 'operations-bridge';
    this.deadLetterQueue = props.deadLetterQueue ?? this.addDeadLetterQueue(busName);
    this.rule = new events.Rule(this, 'Rule', {
      eventBus: events.EventBus.fromEventBusName(this, 'Bus', busName),
      eventPattern: { source: [EVENT_SOURCE] },
    });
    // This class of the CDK refuses `replay-name` in a pattern, so the complete pattern goes to its resource.
    const resource = this.rule.node.defaultChild as events.CfnRule;
    resource.eventPattern = eventPattern;
    this.rule.addTarget(withDelivery(props.target, this.deadLetterQueue));
    this.deadLetterQueue.addToResourcePolicy(sendFromRule(this.deadLetterQueue, this.rule.ruleArn));
  }

  /** The topic of the bridge takes alarms whose names begin with that of the bus. */
  private addDeadLetterQueue(busName: string): sqs.Queue {
    const queue = new sqs.Queue(this, 'DeadLetters', {
      enforceSSL: true,
      retentionPeriod: Duration.seconds(DEAD_LETTER_RETENTION_SECONDS),
    });
    new CfnResource(this, 'DeadLettersAlarm', {
      type: 'AWS::CloudWatch::Alarm',
      properties: {
        ...DEAD_LETTER_ALARM,
        AlarmName: `${busName}-${Names.uniqueResourceName(this, { maxLength: 150 })}-dead-letters`,
        Dimensions: [{ Name: 'QueueName', Value: queue.queueName }],
        AlarmActions: [
          Stack.of(this).formatArn({ service: 'sns', resource: `${busName}${ALARM_TOPIC_SUFFIX}` }),
        ],
      },
    });
    return queue;
  }
}

function subscriptionOf(props: BridgeSubscriptionProps): Subscription {
  const subject = SUBJECT_NAMES.find((name) => props[name] === true);
  if (subject === undefined)
    throw new AppError(
      'subscription_unusable',
      `A subscription says what it delivers, for example with failures: true. It takes one of ${SUBJECT_NAMES.join(', ')}.`,
    );
  const { projects = [], accounts = [], actions = [], statuses = [], replays = 'included' } = props;
  return { subject, projects, accounts, actions, statuses, replays };
}

function usablePattern(path: string, subscription: Subscription): object {
  const faults = faultsOf(subscription);
  if (faults.length > 0) throw new AppError('subscription_unusable', `${path}: ${faults.join(' ')}`);
  return subscriptionPattern(subscription);
}

/** Adds the dead-letter queue, and the retry policy that the target lacks. */
function withDelivery(target: events.IRuleTarget, deadLetterQueue: sqs.IQueue): events.IRuleTarget {
  return {
    bind(rule, id) {
      const bound = target.bind(rule, id);
      const retryPolicy = {
        maximumEventAgeInSeconds:
          bound.retryPolicy?.maximumEventAgeInSeconds ?? RETRY_POLICY.maximumAgeSeconds,
        maximumRetryAttempts: bound.retryPolicy?.maximumRetryAttempts ?? RETRY_POLICY.maximumAttempts,
      };
      return { ...bound, retryPolicy, deadLetterConfig: { arn: deadLetterQueue.queueArn } };
    },
  };
}
