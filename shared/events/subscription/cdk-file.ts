/** Writes a subscription as a program for the AWS CDK, in TypeScript that Node runs as it is. */

import {
  ALARM_TOPIC_SUFFIX,
  DEAD_LETTER_ALARM,
  DEAD_LETTERS_COMMENT,
  RECEIVES_MAX,
  REQUESTS_PER_SECOND_MAX,
  RETRY_POLICY,
  type SubscriptionOrder,
  type TargetKind,
} from './subscription.ts';

interface ProgramTarget {
  /** Libraries beside those for the rule and its dead-letter queue, without the prefix `aws-`. */
  readonly libraries: readonly string[];
  /** Statements that stand before the rule. */
  readonly before: readonly string[];
  /** Members of the rule's target: where it delivers, and as which role. */
  readonly target: readonly string[];
  /** Statements that stand after the rule. */
  readonly after: readonly string[];
}

const PROGRAM_TARGETS: Readonly<Record<TargetKind, ProgramTarget>> = {
  sqs: {
    libraries: [],
    before: [
      `// A message that the consumer failed to process ${RECEIVES_MAX} times goes to the dead letters, too.
const queue = new sqs.Queue(stack, 'Queue', {
  deadLetterQueue: { queue: deadLetters, maxReceiveCount: ${RECEIVES_MAX} },
  enforceSSL: true,
});`,
    ],
    target: ['arn: queue.queueArn'],
    after: [
      queuesMayReceive('queue', 'deadLetters'),
      "new CfnOutput(stack, 'QueueUrl', { value: queue.queueUrl });",
    ],
  },
  lambda: {
    libraries: ['lambda'],
    before: [parameter('functionArn', 'FunctionArn')],
    target: ['arn: functionArn.valueAsString'],
    after: [
      `// What the function fails to process goes to its own on-failure destination.
new lambda.CfnPermission(stack, 'RuleMayInvoke', {
  functionName: functionArn.valueAsString,
  action: 'lambda:InvokeFunction',
  principal: 'events.amazonaws.com',
  sourceArn: rule.attrArn,
});`,
      queuesMayReceive('deadLetters'),
    ],
  },
  eventbus: {
    libraries: [],
    before: [
      `// If the bus belongs to another account, its policy must allow events:PutEvents from this account.
${parameter('targetBusArn', 'TargetBusArn')}`,
      role('events:PutEvents', 'targetBusArn.valueAsString'),
    ],
    target: ['arn: targetBusArn.valueAsString', 'roleArn: role.roleArn'],
    after: [queuesMayReceive('deadLetters')],
  },
  https: {
    libraries: [],
    before: [
      `${parameter('url', 'Url')}
// The name or ARN of a secret in Secrets Manager whose whole text is the key. Each request carries the key in a header.
${parameter('keySecret', 'KeySecret')}
const connection = new events.Connection(stack, 'Connection', {
  authorization: events.Authorization.apiKey('x-api-key', SecretValue.secretsManager(keySecret.valueAsString)),
});
const destination = new events.ApiDestination(stack, 'Destination', {
  connection,
  endpoint: url.valueAsString,
  httpMethod: events.HttpMethod.POST,
  rateLimitPerSecond: ${REQUESTS_PER_SECOND_MAX},
});`,
      role('events:InvokeApiDestination', 'destination.apiDestinationArn'),
    ],
    target: ['arn: destination.apiDestinationArn', 'roleArn: role.roleArn'],
    after: [queuesMayReceive('deadLetters')],
  },
  email: {
    libraries: ['sns'],
    before: [
      `${parameter('email', 'Email')}
const topic = new sns.Topic(stack, 'Topic');
// Mail is sent only after the link in the first mail was opened.
new sns.Subscription(stack, 'Mail', {
  topic,
  protocol: sns.SubscriptionProtocol.EMAIL,
  endpoint: email.valueAsString,
});`,
    ],
    target: ['arn: topic.topicArn'],
    after: [
      `topic.addToResourcePolicy(
  new iam.PolicyStatement({
    principals: [new iam.ServicePrincipal('events.amazonaws.com')],
    actions: ['sns:Publish'],
    resources: [topic.topicArn],
    conditions: { ArnEquals: { 'aws:SourceArn': rule.attrArn } },
  }),
);`,
      queuesMayReceive('deadLetters'),
    ],
  },
};

function parameter(variable: string, id: string): string {
  return `const ${variable} = new CfnParameter(stack, '${id}');`;
}

function role(action: string, resource: string): string {
  return `const role = new iam.Role(stack, 'Role', {
  assumedBy: new iam.ServicePrincipal('events.amazonaws.com', {
    conditions: { StringEquals: { 'aws:SourceAccount': stack.account } },
  }),
});
role.addToPolicy(new iam.PolicyStatement({ actions: ['${action}'], resources: [${resource}] }));`;
}

function queuesMayReceive(...queues: readonly string[]): string {
  return `// Without this permission EventBridge accepts the rule and delivers nothing.
for (const each of [${queues.join(', ')}])
  each.addToResourcePolicy(
    new iam.PolicyStatement({
      principals: [new iam.ServicePrincipal('events.amazonaws.com')],
      actions: ['sqs:SendMessage'],
      resources: [each.queueArn],
      conditions: { ArnEquals: { 'aws:SourceArn': rule.attrArn } },
    }),
  );`;
}

/** `head` stands at the top of the file, as a comment. */
export function cdkProgram(order: SubscriptionOrder, head: readonly string[]): string {
  const part = PROGRAM_TARGETS[order.target];
  const libraries = ['events', 'iam', 'sqs', ...part.libraries].toSorted();
  const all = [...part.before, ...part.after].join('\n');
  const names = [
    'App',
    'CfnOutput',
    'CfnParameter',
    'CfnResource',
    'Duration',
    'SecretValue',
    'Stack',
  ].filter((name) => ALWAYS.includes(name) || new RegExp(`\\b${name}\\b`).test(all));
  const parts = [
    head.map((line) => `// ${line}`.trimEnd()).join('\n'),
    [
      `import { ${names.join(', ')} } from 'aws-cdk-lib';`,
      ...libraries.map((name) => `import * as ${name} from 'aws-cdk-lib/aws-${name}';`),
    ].join('\n'),
    `// The bus of the bridge: \`name\` in bridge.config.ts.\nconst busName = ${text(order.busName)};`,
    `const stack = new Stack(new App(), ${text(order.name)});`,
    DEAD_LETTERS,
    deadLettersAlarm(order.name),
    ...part.before,
    ruleOf(order, part.target),
    ...part.after,
    "new CfnOutput(stack, 'DeadLettersUrl', { value: deadLetters.queueUrl });",
  ];
  return `${parts.join('\n\n')}\n`;
}

const ALWAYS = ['App', 'CfnOutput', 'CfnResource', 'Duration', 'Stack'];

const DEAD_LETTERS = `// ${DEAD_LETTERS_COMMENT}
const deadLetters = new sqs.Queue(stack, 'DeadLetters', { retentionPeriod: Duration.days(14), enforceSSL: true });`;

function deadLettersAlarm(name: string): string {
  const settings = literal(DEAD_LETTER_ALARM, '  ').slice(1, -1).trim();
  return `new CfnResource(stack, 'DeadLettersAlarm', {
  type: 'AWS::CloudWatch::Alarm',
  properties: {
    AlarmName: \`\${busName}-${name}-dead-letters\`,
    AlarmActions: [stack.formatArn({ service: 'sns', resource: \`\${busName}${ALARM_TOPIC_SUFFIX}\` })],
    Dimensions: [{ Name: 'QueueName', Value: deadLetters.queueName }],
    ${settings}
  },
});`;
}

function ruleOf({ pattern, target }: SubscriptionOrder, members: readonly string[]): string {
  return `const rule = new events.CfnRule(stack, 'Rule', {
  eventBusName: busName,
  eventPattern: ${literal(pattern, '  ')},
  targets: [
    {
      id: ${text(target)},
${members.map((member) => `      ${member},`).join('\n')}
      deadLetterConfig: { arn: deadLetters.queueArn },
      retryPolicy: {
        maximumEventAgeInSeconds: ${RETRY_POLICY.maximumAgeSeconds},
        maximumRetryAttempts: ${RETRY_POLICY.maximumAttempts},
      },
    },
  ],
});`;
}

/** Writes a value as TypeScript: short values on one line. */
function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((each) => literal(each, `${indent}  `))
    : Object.entries(value).map(([key, each]) => `${keyText(key)}: ${literal(each, `${indent}  `)}`);
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${parts.join(', ')}${close}`;
  if (!line.includes('\n') && line.length + indent.length <= 90) return line;
  return `${open.trim()}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${close.trim()}`;
}

function keyText(key: string): string {
  return /^[a-z_$][\w$]*$/i.test(key) ? key : text(key);
}

function text(value: string): string {
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
