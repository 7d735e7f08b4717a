import { App, Duration, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import type * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { describe, expect, test } from 'vitest';
import { BridgeSubscription, type BridgeSubscriptionProps } from '../../infra/aws/bridge-subscription.ts';
import { SUBJECT_NAMES, subscriptionPattern } from '../../shared/events/subscription/subscription.ts';
import { type Template as Delivered, deliveryFaults } from '../subscription/delivery-faults.ts';
import { aSubscription } from '../subscription/subscriptions.ts';
import type { Resource } from './stack-under-test.ts';

const newStack = () =>
  new Stack(new App(), 'consumers', { env: { account: '111122223333', region: 'eu-central-1' } });

function subscribed(props: (stack: Stack) => BridgeSubscriptionProps): Template {
  const stack = newStack();
  new BridgeSubscription(stack, 'Failures', props(stack));
  return Template.fromStack(stack);
}

const toQueue = (stack: Stack) => new targets.SqsQueue(new sqs.Queue(stack, 'Queue'));

describe('BridgeSubscription', () => {
  test('puts a rule for failures of projects onto the bus of the bridge', () => {
    const template = subscribed((stack) => ({
      failures: true,
      projects: ['a-1', 'b-2'],
      target: toQueue(stack),
    }));

    template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: 'operations-bridge',
      EventPattern: subscriptionPattern(aSubscription({ projects: ['a-1', 'b-2'] })),
    });
  });

  test('takes every filter, and leaves replays out when it is asked to', () => {
    const template = subscribed((stack) => ({
      settledCommands: true,
      accounts: ['main'],
      statuses: ['failed'],
      replays: 'left_out',
      busName: 'my-bus',
      target: toQueue(stack),
    }));

    template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: 'my-bus',
      EventPattern: {
        source: ['operations-bridge'],
        'detail-type': ['Command Settled'],
        'replay-name': [{ exists: false }],
        resources: [{ exists: false }],
        detail: { account_id: ['main'], outcome: ['failed'] },
      },
    });
  });

  test.each<[string, (stack: Stack) => events.IRuleTarget]>([
    ['a queue', toQueue],
    ['a function', (stack) => new targets.LambdaFunction(aFunction(stack))],
  ])('delivers to %s with a permission, a retry policy and a dead-letter queue', (_name, targetIn) => {
    const template = subscribed((stack) => ({ readyBranches: true, target: targetIn(stack) }));
    const [rule] = Object.values(template.findResources('AWS::Events::Rule'));
    const [target] = (rule as Resource).Properties['Targets'] as readonly object[];

    expect(target).toMatchObject({
      RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
      DeadLetterConfig: { Arn: { 'Fn::GetAtt': [expect.stringMatching(/DeadLetters/), 'Arn'] } },
    });
    expect(faultsIn(template)).toEqual([]);
  });

  test('delivers to a topic with the permission that the CDK gives', () => {
    const template = subscribed((stack) => ({
      computes: true,
      target: new targets.SnsTopic(new sns.Topic(stack, 'Topic')),
    }));
    const statement = {
      Action: 'sns:Publish',
      Principal: { Service: 'events.amazonaws.com' },
      Effect: 'Allow',
    };

    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: { Statement: [Match.objectLike(statement)] },
    });
  });

  test('keeps the retry policy of its target, and a dead-letter queue that it is given', () => {
    const template = subscribed((stack) => ({
      everything: true,
      target: new targets.SqsQueue(new sqs.Queue(stack, 'Queue'), { maxEventAge: Duration.hours(1) }),
      deadLetterQueue: new sqs.Queue(stack, 'Mine'),
    }));

    template.resourceCountIs('AWS::SQS::Queue', 2);
    template.hasResourceProperties('AWS::Events::Rule', {
      Targets: [
        Match.objectLike({
          RetryPolicy: { MaximumEventAgeInSeconds: 3_600, MaximumRetryAttempts: 185 },
          DeadLetterConfig: { Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('Mine'), 'Arn'] } },
        }),
      ],
    });
    // Whoever gives a queue also watches it.
    expect(faultsIn(template)).toEqual(['nobody is told of the dead letters']);
  });

  test.each(SUBJECT_NAMES)('has a rule for %s', (subject) => {
    const template = subscribed(
      (stack) => ({ [subject]: true, target: toQueue(stack) }) as unknown as BridgeSubscriptionProps,
    );

    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: subscriptionPattern(aSubscription({ subject })),
    });
  });

  test('refuses a subscription that no event can match, and names itself', () => {
    expect(() =>
      subscribed((stack) => ({ endedOperations: true, statuses: ['running'], target: toQueue(stack) })),
    ).toThrow(/^consumers\/Failures: No event of "ended" has the status "running"; its events have finished/);
  });

  test('takes exactly one subject, says the compiler, and says so itself in JavaScript', () => {
    const target = toQueue(newStack());
    // @ts-expect-error two subjects are one too many
    const two: BridgeSubscriptionProps = { failures: true, computes: true, target };
    // @ts-expect-error a subject is missing
    const none: BridgeSubscriptionProps = { target };

    expect(two.target).toBe(none.target);
    expect(() => new BridgeSubscription(newStack(), 'None', none)).toThrow(
      /^A subscription says what it delivers, for example with failures: true\. It takes one of failures, /,
    );
  });
});

function aFunction(stack: Stack): lambda.Function {
  return new lambda.Function(stack, 'Function', {
    runtime: lambda.Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: lambda.Code.fromInline('exports.handler = async () => {}'),
  });
}

/** A role of the CDK has no condition, and the ARN of a bus of another account is a text, so that target is in edges.test.ts. */
function faultsIn(template: Template): readonly string[] {
  return deliveryFaults(template.toJSON() as Delivered);
}
