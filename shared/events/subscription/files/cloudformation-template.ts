/** Writes a subscription as a CloudFormation template. */

import {
  DEAD_LETTER_RETENTION_SECONDS,
  RECEIVES_MAX,
  REQUESTS_PER_SECOND_MAX,
  RETRY_POLICY,
} from '../delivery.ts';
import { deliveryPolicy, rolePolicy, trustPolicy } from '../policies.ts';
import type { SubscriptionOrder, TargetKind } from '../subscription-order.ts';
import { type Members, toYaml, type Value } from './yaml.ts';

/** What one kind of target adds to the template. */
interface TargetPart {
  readonly parameters: Members;
  readonly resources: Members;
  /** Members of the rule's target: where it delivers, and as which role. */
  readonly target: Members;
  readonly outputs: Members;
  /** Each comment stands above the parameter or resource of its name. */
  readonly comments: Readonly<Record<string, string>>;
}

/** `head` stands at the top of the file, as a comment. */
export function cloudFormationTemplate(order: SubscriptionOrder, head: readonly string[]): string {
  const { parameters, resources, target, outputs, comments } = TARGET_PARTS[order.target]();
  const all = { BusName: BUS_NAME_COMMENT, DeadLetters: DEAD_LETTERS_COMMENT, ...comments };
  const sections = [
    section('Parameters', { BusName: { Type: 'String', Default: order.busName }, ...parameters }, all),
    section('Resources', { Rule: ruleOf(order, target), ...resources, ...deadLetters() }, all),
    section('Outputs', { ...outputs, DeadLettersUrl: { Value: ref('DeadLetters') } }, all),
  ];
  const top = [...head.map((line) => `# ${line}`.trimEnd()), "AWSTemplateFormatVersion: '2010-09-09'"];
  return `${[top.join('\n'), ...sections].join('\n\n')}\n`;
}

function section(name: string, members: Members, comments: TargetPart['comments']): string {
  const parts = Object.entries(members).map(([key, value]) => {
    const comment = comments[key];
    const lines = `${comment === undefined ? '' : `# ${comment}\n`}${toYaml({ [key]: value })}`;
    return lines.replaceAll(/^/gm, '  ');
  });
  return `${name}:\n${parts.join(name === 'Resources' ? '\n\n' : '\n')}`;
}

const BUS_NAME_COMMENT = 'The bus of the bridge: `name` in bridge.config.ts.';
const DEAD_LETTERS_COMMENT = 'Events that could not be delivered wait here for 14 days. Watch its length.';

const RULE_ARN = { 'Fn::GetAtt': ['Rule', 'Arn'] };
const arnOf = (name: string): Value => ({ 'Fn::GetAtt': [name, 'Arn'] });
const ref = (name: string): Value => ({ Ref: name });

function ruleOf({ pattern, target }: SubscriptionOrder, members: Members): Value {
  const rule = {
    EventBusName: ref('BusName'),
    EventPattern: pattern,
    Targets: [
      {
        Id: target,
        ...members,
        DeadLetterConfig: { Arn: arnOf('DeadLetters') },
        RetryPolicy: {
          MaximumEventAgeInSeconds: RETRY_POLICY.maximumAgeSeconds,
          MaximumRetryAttempts: RETRY_POLICY.maximumAttempts,
        },
      },
    ],
  };
  return resource('AWS::Events::Rule', rule as unknown as Members);
}

function deadLetters(): Members {
  return {
    DeadLetters: resource('AWS::SQS::Queue', {
      MessageRetentionPeriod: DEAD_LETTER_RETENTION_SECONDS,
      SqsManagedSseEnabled: true,
    }),
    RuleMaySendDeadLetters: queuePolicy('DeadLetters'),
  };
}

function queuePolicy(queue: string): Value {
  const policy = deliveryPolicy<Value>({ action: 'sqs:SendMessage', to: arnOf(queue), from: RULE_ARN });
  return resource('AWS::SQS::QueuePolicy', { Queues: [ref(queue)], PolicyDocument: policy as Members });
}

function resource(type: string, properties: Members): Value {
  return { Type: type, Properties: properties };
}

const TARGET_PARTS: Readonly<Record<TargetKind, () => TargetPart>> = {
  sqs: () => ({
    parameters: {},
    resources: {
      Queue: resource('AWS::SQS::Queue', {
        SqsManagedSseEnabled: true,
        RedrivePolicy: { deadLetterTargetArn: arnOf('DeadLetters'), maxReceiveCount: RECEIVES_MAX },
      }),
      RuleMaySend: queuePolicy('Queue'),
    },
    target: { Arn: arnOf('Queue') },
    outputs: { QueueUrl: { Value: ref('Queue') } },
    comments: {
      DeadLetters:
        'Events that could not be delivered, and messages that the consumer failed to process five times, wait here for 14 days.',
    },
  }),
  lambda: () => ({
    parameters: { FunctionArn: { Type: 'String', AllowedPattern: 'arn:.+:function:.+' } },
    resources: {
      RuleMayInvoke: resource('AWS::Lambda::Permission', {
        FunctionName: ref('FunctionArn'),
        Action: 'lambda:InvokeFunction',
        Principal: 'events.amazonaws.com',
        SourceArn: RULE_ARN,
      }),
    },
    target: { Arn: ref('FunctionArn') },
    outputs: {},
    comments: {
      DeadLetters:
        'Events that could not be handed to the function wait here for 14 days. What the function fails to process goes to its own on-failure destination.',
    },
  }),
  eventbus: () => ({
    parameters: { TargetBusArn: { Type: 'String', AllowedPattern: 'arn:.+:event-bus/.+' } },
    resources: roleResources('events:PutEvents', ref('TargetBusArn')),
    target: { Arn: ref('TargetBusArn'), RoleArn: arnOf('Role') },
    outputs: {},
    comments: {
      TargetBusArn:
        'If the bus belongs to another account, its policy must allow events:PutEvents from this account.',
    },
  }),
  https: httpsPart,
  email: () => ({
    parameters: { Email: { Type: 'String', AllowedPattern: '.+@.+' } },
    resources: {
      Topic: resource('AWS::SNS::Topic', {}),
      Mail: resource('AWS::SNS::Subscription', {
        TopicArn: ref('Topic'),
        Protocol: 'email',
        Endpoint: ref('Email'),
      }),
      RuleMayPublish: resource('AWS::SNS::TopicPolicy', {
        Topics: [ref('Topic')],
        PolicyDocument: deliveryPolicy<Value>({
          action: 'sns:Publish',
          to: ref('Topic'),
          from: RULE_ARN,
        }) as Members,
      }),
    },
    target: { Arn: ref('Topic') },
    outputs: { TopicArn: { Value: ref('Topic') } },
    comments: { Mail: 'Mail is sent only after the link in the first mail was opened.' },
  }),
};

function httpsPart(): TargetPart {
  return {
    parameters: {
      Url: { Type: 'String', AllowedPattern: 'https://.+' },
      KeyHeader: { Type: 'String', Default: 'x-api-key' },
      KeySecret: { Type: 'String' },
    },
    resources: {
      Connection: resource('AWS::Events::Connection', {
        AuthorizationType: 'API_KEY',
        AuthParameters: {
          ApiKeyAuthParameters: {
            ApiKeyName: ref('KeyHeader'),
            ApiKeyValue: { 'Fn::Sub': `{{resolve:secretsmanager:$\{KeySecret}}}` },
          },
        },
      }),
      Destination: resource('AWS::Events::ApiDestination', {
        ConnectionArn: arnOf('Connection'),
        HttpMethod: 'POST',
        InvocationEndpoint: ref('Url'),
        InvocationRateLimitPerSecond: REQUESTS_PER_SECOND_MAX,
      }),
      ...roleResources('events:InvokeApiDestination', arnOf('Destination')),
    },
    target: { Arn: arnOf('Destination'), RoleArn: arnOf('Role') },
    outputs: {},
    comments: {
      KeyHeader: 'Each request carries the key in this header, so that the receiver can check who sends it.',
      KeySecret: 'The name or ARN of a secret in Secrets Manager whose whole text is the key.',
    },
  };
}

function roleResources(action: 'events:PutEvents' | 'events:InvokeApiDestination', allowed: Value): Members {
  return {
    Role: resource('AWS::IAM::Role', {
      AssumeRolePolicyDocument: trustPolicy<Value>(ref('AWS::AccountId')) as Members,
      Policies: [{ PolicyName: 'deliver', PolicyDocument: rolePolicy<Value>(action, allowed) as Members }],
    }),
  };
}
