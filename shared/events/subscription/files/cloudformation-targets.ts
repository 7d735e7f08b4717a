/** Says what each kind of target adds to a CloudFormation template. */

import { RECEIVES_MAX, REQUESTS_PER_SECOND_MAX } from '../delivery.ts';
import { deliveryPolicy, rolePolicy, trustPolicy } from '../policies.ts';
import type { TargetKind } from '../subscription-order.ts';
import type { Members, Value } from './yaml.ts';

const RULE_ARN = { 'Fn::GetAtt': ['Rule', 'Arn'] };

/** What one kind of target adds to the template. */
interface TemplateTarget {
  readonly parameters: Members;
  readonly resources: Members;
  /** Members of the rule's target: where it delivers, and as which role. */
  readonly target: Members;
  readonly outputs: Members;
  /** Each comment stands above the parameter or resource of its name. */
  readonly comments: Readonly<Record<string, string>>;
}

export const TEMPLATE_TARGETS: Readonly<Record<TargetKind, () => TemplateTarget>> = {
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

function httpsPart(): TemplateTarget {
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

/** Lets the rule send to the queue. */
export function queuePolicy(queue: string): Value {
  const policy = deliveryPolicy<Value>({ action: 'sqs:SendMessage', to: arnOf(queue), from: RULE_ARN });
  return resource('AWS::SQS::QueuePolicy', { Queues: [ref(queue)], PolicyDocument: policy as Members });
}

export function resource(type: string, properties: Members): Value {
  return { Type: type, Properties: properties };
}

export function arnOf(name: string): Value {
  return { 'Fn::GetAtt': [name, 'Arn'] };
}

export function ref(name: string): Value {
  return { Ref: name };
}
