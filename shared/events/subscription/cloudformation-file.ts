/** Writes a subscription as a CloudFormation template, as YAML with the short forms of its functions. */

import {
  ALARM_TOPIC_SUFFIX,
  DEAD_LETTER_ALARM,
  DEAD_LETTER_RETENTION_SECONDS,
  DEAD_LETTERS_COMMENT,
  deliveryPolicy,
  RECEIVES_MAX,
  REQUESTS_PER_SECOND_MAX,
  RETRY_POLICY,
  rolePolicy,
  type SubscriptionOrder,
  type TargetKind,
  trustPolicy,
} from './subscription.ts';

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

type Members = Readonly<Record<string, Value>>;

/** Returns lines without an indent and without a line break at the end. */
function toYaml(members: Members): string {
  return linesOf(members).join('\n');
}

function linesOf(members: Members): readonly string[] {
  return Object.entries(members).flatMap(([key, value]) => {
    const flow = flowOf(value);
    if (flow !== undefined) return [`${scalar(key)}: ${flow}`];
    const lines = isList(value) ? value.flatMap(itemOf) : linesOf(value as Members);
    return [`${scalar(key)}:`, ...lines.map((line) => `  ${line}`)];
  });
}

/** The first line of an item stands behind the dash, the others below it. */
function itemOf(item: Value): readonly string[] {
  const flow = flowOf(item);
  if (flow !== undefined) return [`- ${flow}`];
  const lines = isList(item) ? item.flatMap(itemOf) : linesOf(item as Members);
  return lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`);
}

/** Returns undefined for a value that needs lines of its own. */
function flowOf(value: Value): string | undefined {
  if (typeof value === 'string') return scalar(value);
  if (typeof value !== 'object') return String(value);
  if (!isList(value)) return functionOf(value) ?? (Object.keys(value).length === 0 ? '{}' : undefined);
  const isShort = value.every((item) => typeof item !== 'object');
  return isShort ? `[${value.map(flowOf).join(', ')}]` : undefined;
}

function functionOf(value: Members): string | undefined {
  const [[name, argument] = [], ...others] = Object.entries(value);
  if (others.length > 0 || argument === undefined) return undefined;
  if (name === 'Ref' && typeof argument === 'string') return `!Ref ${argument}`;
  if (name === 'Fn::GetAtt' && isList(argument)) return `!GetAtt ${argument.map(String).join('.')}`;
  if (name === 'Fn::Sub' && typeof argument === 'string') return `!Sub ${scalar(argument)}`;
  return undefined;
}

/** Quotes every text that YAML 1.1 or 1.2 could read as something else than this text. */
function scalar(text: string): string {
  if (/[^ -~]/.test(text)) return JSON.stringify(text);
  const isWord = /^[a-z$][\w.$/:-]*(?: [\w.$/:-]+)*$/i.test(text) && !/:(?: |$)/.test(text);
  // Some readers of YAML 1.1 take `e0` and `e-0` for numbers.
  const isKeyword = /^(?:true|false|yes|no|on|off|null|y|n|e[-+]?\d+)$/i.test(text);
  return isWord && !isKeyword ? text : `'${text.replaceAll("'", "''")}'`;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

const RULE_ARN = { 'Fn::GetAtt': ['Rule', 'Arn'] };

/** What one kind of target adds to the template. */
interface TemplateTarget extends SubscriptionTemplate {
  /** Members of the rule's target: where it delivers, and as which role. */
  readonly target: Members;
}

const TEMPLATE_TARGETS: Readonly<Record<TargetKind, () => TemplateTarget>> = {
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
function queuePolicy(queue: string): Value {
  const policy = deliveryPolicy<Value>({ action: 'sqs:SendMessage', to: arnOf(queue), from: RULE_ARN });
  return resource('AWS::SQS::QueuePolicy', { Queues: [ref(queue)], PolicyDocument: policy as Members });
}

function resource(type: string, properties: Members): Value {
  return { Type: type, Properties: properties };
}

function arnOf(name: string): Value {
  return { 'Fn::GetAtt': [name, 'Arn'] };
}

function ref(name: string): Value {
  return { Ref: name };
}

export interface SubscriptionTemplate {
  readonly parameters: Members;
  readonly resources: Members;
  readonly outputs: Members;
  /** Each comment stands above the parameter or resource of its name. */
  readonly comments: Readonly<Record<string, string>>;
}

/** Returns all that is deployed. The writer for the AWS CDK uses it, too. */
export function templateOf(order: SubscriptionOrder): SubscriptionTemplate {
  const { parameters, resources, target, outputs, comments } = TEMPLATE_TARGETS[order.target]();
  return {
    parameters: { BusName: { Type: 'String', Default: order.busName }, ...parameters },
    resources: { Rule: ruleOf(order, target), ...resources, ...deadLetters(order.name) },
    outputs: { ...outputs, DeadLettersUrl: { Value: ref('DeadLetters') } },
    comments: { BusName: BUS_NAME_COMMENT, DeadLetters: DEAD_LETTERS_COMMENT, ...comments },
  };
}

/** `head` stands at the top of the file, as a comment. */
export function cloudFormationTemplate(order: SubscriptionOrder, head: readonly string[]): string {
  const { parameters, resources, outputs, comments } = templateOf(order);
  const sections = [
    section('Parameters', parameters, comments),
    section('Resources', resources, comments),
    section('Outputs', outputs, comments),
  ];
  const top = [...head.map((line) => `# ${line}`.trimEnd()), "AWSTemplateFormatVersion: '2010-09-09'"];
  return `${[top.join('\n'), ...sections].join('\n\n')}\n`;
}

function section(name: string, members: Members, comments: Readonly<Record<string, string>>): string {
  const parts = Object.entries(members).map(([key, value]) => {
    const comment = comments[key];
    const lines = `${comment === undefined ? '' : `# ${comment}\n`}${toYaml({ [key]: value })}`;
    return lines.replaceAll(/^/gm, '  ');
  });
  return `${name}:\n${parts.join(name === 'Resources' ? '\n\n' : '\n')}`;
}

const BUS_NAME_COMMENT = 'The bus of the bridge: `name` in bridge.config.ts.';

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

function deadLetters(name: string): Members {
  return {
    DeadLetters: resource('AWS::SQS::Queue', {
      QueueName: `${name}-dead-letters`,
      MessageRetentionPeriod: DEAD_LETTER_RETENTION_SECONDS,
      SqsManagedSseEnabled: true,
    }),
    RuleMaySendDeadLetters: queuePolicy('DeadLetters'),
    DeadLettersAlarm: resource('AWS::CloudWatch::Alarm', {
      AlarmName: { 'Fn::Sub': `$\{BusName}-${name}-dead-letters` },
      ...DEAD_LETTER_ALARM,
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['DeadLetters', 'QueueName'] } }],
      AlarmActions: [
        {
          'Fn::Sub': `arn:$\{AWS::Partition}:sns:$\{AWS::Region}:$\{AWS::AccountId}:$\{BusName}${ALARM_TOPIC_SUFFIX}`,
        },
      ],
    }),
  };
}
