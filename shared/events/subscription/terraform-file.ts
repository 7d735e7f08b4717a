/** Writes a subscription as a Terraform configuration, in the form that `terraform fmt` gives it. */

import {
  ALARM_TOPIC_SUFFIX,
  alarmSettings,
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

/** Stands for something that Terraform evaluates, such as `aws_sqs_queue.failures.arn`. */
interface Expression {
  readonly expression: string;
}

export type HclValue =
  | string
  | number
  | boolean
  | Expression
  | readonly HclValue[]
  | { readonly [key: string]: HclValue };

interface Block {
  /** The type and the labels, as `resource "aws_sqs_queue" "failures"`. */
  readonly head: string;
  readonly attributes: Readonly<Record<string, HclValue>>;
  readonly blocks?: readonly Block[];
  readonly comment?: string;
}

function expression(text: string): Expression {
  return { expression: text };
}

function jsonencode(value: HclValue): Expression {
  return { expression: `jsonencode(${valueText(value)})` };
}

/** Returns the block without a line break at its end. */
export function toHcl({ head, attributes, blocks = [], comment }: Block): string {
  const inner = [attributesText(attributes), ...blocks.map(toHcl)].filter((text) => text !== '');
  const body = inner.length === 0 ? '{}' : `{\n${indented(inner.join('\n\n'))}\n}`;
  return `${comment === undefined ? '' : `# ${comment}\n`}${head} ${body}`;
}

/** The equals signs of neighbouring lines stand below each other; a value of several lines separates neighbours. */
function attributesText(attributes: Readonly<Record<string, HclValue>>): string {
  const entries = Object.entries(attributes).map(([key, value]) => ({
    key: keyText(key),
    text: valueText(value),
  }));
  const isLong = (index: number) => entries[index]?.text.includes('\n') ?? true;
  const widthAt = (index: number) => {
    let [from, to] = [index, index];
    while (!isLong(from - 1)) from -= 1;
    while (!isLong(to + 1)) to += 1;
    return Math.max(...entries.slice(from, to + 1).map(({ key }) => key.length));
  };
  return entries
    .map(({ key, text }, index) => `${isLong(index) ? key : key.padEnd(widthAt(index))} = ${text}`)
    .join('\n');
}

function valueText(value: HclValue): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return listText(value);
  if (isExpression(value)) return value.expression;
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const text = attributesText(value);
  return entries.length === 1 && !text.includes('\n') ? `{ ${text} }` : `{\n${indented(text)}\n}`;
}

/** A longer list has one value on each line. */
const LINE_CHARACTERS_MAX = 90;

function listText(values: readonly HclValue[]): string {
  const texts = values.map(valueText);
  const line = `[${texts.join(', ')}]`;
  if (texts.length === 1 || (!line.includes('\n') && line.length <= LINE_CHARACTERS_MAX)) return line;
  return `[\n${indented(texts.map((text) => `${text},`).join('\n'))}\n]`;
}

/**
 * JSON's escapes are those of this language, except for two. `${` and `%{` begin templates, and are doubled to stand for
 * themselves (Terraform documentation, "Strings and Templates").
 */
function stringText(text: string): string {
  return JSON.stringify(text).replaceAll(/\\.|[$%](?=\{)/g, (token) => {
    if (token === '\\b') return '\\u0008';
    if (token === '\\f') return '\\u000c';
    return token.startsWith('\\') ? token : `${token}${token}`;
  });
}

function keyText(key: string): string {
  return /^[a-z_][\w-]*$/i.test(key) ? key : stringText(key);
}

function isExpression(value: object): value is Expression {
  return 'expression' in value && Object.keys(value).length === 1;
}

function isList(value: HclValue): value is readonly HclValue[] {
  return Array.isArray(value);
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

/** Terraform's own names begin with this word, so that several subscriptions fit into one module. */
type LocalName = string;

interface TerraformTarget {
  /** These stand before the rule. */
  readonly variables: readonly Block[];
  readonly resources: readonly Block[];
  readonly arn: Expression;
  readonly roleArn?: Expression;
  readonly deadLettersComment?: string;
}

export function localNameOf(name: string): LocalName {
  return name.replaceAll('-', '_').toLowerCase();
}

const TERRAFORM_TARGETS: Readonly<Record<TargetKind, (local: LocalName, name: string) => TerraformTarget>> = {
  sqs: (local, name) => ({
    variables: [],
    resources: [
      resource('aws_sqs_queue', local, {
        name,
        sqs_managed_sse_enabled: true,
        redrive_policy: jsonencode({
          deadLetterTargetArn: expression(`aws_sqs_queue.${local}_dead_letters.arn`),
          maxReceiveCount: RECEIVES_MAX,
        }),
      }),
      queuePolicy(local, local),
    ],
    arn: expression(`aws_sqs_queue.${local}.arn`),
    deadLettersComment:
      'Events that could not be delivered, and messages that the consumer failed to process five times, wait here for 14 days.',
  }),
  lambda: (local, name) => ({
    variables: [variable(`${local}_function_arn`)],
    resources: [
      resource('aws_lambda_permission', local, {
        statement_id: name,
        action: 'lambda:InvokeFunction',
        function_name: expression(`var.${local}_function_arn`),
        principal: 'events.amazonaws.com',
        source_arn: ruleArn(local),
      }),
    ],
    arn: expression(`var.${local}_function_arn`),
    deadLettersComment:
      'Events that could not be handed to the function wait here for 14 days. What the function fails to process goes to its own on-failure destination.',
  }),
  eventbus: (local, name) => ({
    variables: [
      {
        ...variable(`${local}_target_bus_arn`),
        comment:
          'If the bus belongs to another account, its policy must allow events:PutEvents from this account.',
      },
    ],
    resources: role(
      local,
      name,
      rolePolicy<HclValue>('events:PutEvents', expression(`var.${local}_target_bus_arn`)),
    ),
    arn: expression(`var.${local}_target_bus_arn`),
    roleArn: expression(`aws_iam_role.${local}.arn`),
  }),
  https: httpsPart,
  email: (local, name) => ({
    variables: [variable(`${local}_email`)],
    resources: [
      resource('aws_sns_topic', local, { name }),
      {
        ...resource('aws_sns_topic_subscription', local, {
          topic_arn: expression(`aws_sns_topic.${local}.arn`),
          protocol: 'email',
          endpoint: expression(`var.${local}_email`),
        }),
        comment: 'Mail is sent only after the link in the first mail was opened.',
      },
      resource('aws_sns_topic_policy', local, {
        arn: expression(`aws_sns_topic.${local}.arn`),
        policy: jsonencode(
          deliveryPolicy<HclValue>({
            action: 'sns:Publish',
            to: expression(`aws_sns_topic.${local}.arn`),
            from: ruleArn(local),
          }) as HclValue,
        ),
      }),
    ],
    arn: expression(`aws_sns_topic.${local}.arn`),
  }),
};

function httpsPart(local: LocalName, name: string): TerraformTarget {
  const key = variable(`${local}_key`, { sensitive: true });
  const invoke = rolePolicy<HclValue>(
    'events:InvokeApiDestination',
    expression(`aws_cloudwatch_event_api_destination.${local}.arn`),
  );
  return {
    variables: [
      variable(`${local}_url`),
      {
        ...variable(`${local}_key_header`, { default: 'x-api-key' }),
        comment: 'Each request carries the key in this header, so that the receiver can check who sends it.',
      },
      {
        ...key,
        comment: `Set it in the environment, as TF_VAR_${local}_key. Terraform keeps it in its state, which must not be public.`,
      },
    ],
    resources: [
      {
        ...resource('aws_cloudwatch_event_connection', local, { name, authorization_type: 'API_KEY' }),
        blocks: [
          {
            head: 'auth_parameters',
            attributes: {},
            blocks: [
              {
                head: 'api_key',
                attributes: {
                  key: expression(`var.${local}_key_header`),
                  value: expression(`var.${local}_key`),
                },
              },
            ],
          },
        ],
      },
      resource('aws_cloudwatch_event_api_destination', local, {
        name,
        connection_arn: expression(`aws_cloudwatch_event_connection.${local}.arn`),
        http_method: 'POST',
        invocation_endpoint: expression(`var.${local}_url`),
        invocation_rate_limit_per_second: REQUESTS_PER_SECOND_MAX,
      }),
      ...role(local, name, invoke),
    ],
    arn: expression(`aws_cloudwatch_event_api_destination.${local}.arn`),
    roleArn: expression(`aws_iam_role.${local}.arn`),
  };
}

/** EventBridge assumes this role to deliver. */
function role(local: LocalName, name: string, policy: object): readonly Block[] {
  const account = `data.aws_caller_identity.${local}`;
  return [
    { head: `data "aws_caller_identity" "${local}"`, attributes: {} },
    resource('aws_iam_role', local, {
      name: `${name}-delivery`,
      assume_role_policy: jsonencode(trustPolicy<HclValue>(expression(`${account}.account_id`)) as HclValue),
    }),
    resource('aws_iam_role_policy', local, {
      name: 'deliver',
      role: expression(`aws_iam_role.${local}.id`),
      policy: jsonencode(policy as HclValue),
    }),
  ];
}

function variable(name: string, attributes: Block['attributes'] = {}): Block {
  return { head: `variable "${name}"`, attributes: { type: expression('string'), ...attributes } };
}

/** `local` is the name within Terraform. */
function resource(type: string, local: LocalName, attributes: Block['attributes']): Block {
  return { head: `resource "${type}" "${local}"`, attributes };
}

/** Lets the rule send to the queue. */
function queuePolicy(queue: LocalName, local: LocalName): Block {
  const to = expression(`aws_sqs_queue.${queue}.arn`);
  const policy = deliveryPolicy<HclValue>({ action: 'sqs:SendMessage', to, from: ruleArn(local) });
  return resource('aws_sqs_queue_policy', queue, {
    queue_url: expression(`aws_sqs_queue.${queue}.id`),
    policy: jsonencode(policy as HclValue),
  });
}

function ruleArn(local: LocalName): Expression {
  return expression(`aws_cloudwatch_event_rule.${local}.arn`);
}

/** `head` stands at the top of the file, as a comment. */
export function terraformConfiguration(order: SubscriptionOrder, head: readonly string[]): string {
  const local = localNameOf(order.name);
  const part = TERRAFORM_TARGETS[order.target](local, order.name);
  const blocks = [
    busVariable(local, order.busName),
    ...part.variables,
    ruleOf(local, order),
    targetOf(local, order, part),
    ...part.resources,
    ...deadLetters(local, order.name, part.deadLettersComment ?? DEAD_LETTERS_COMMENT),
  ];
  const top = head.map((line) => `# ${line}`.trimEnd()).join('\n');
  return `${[top, ...blocks.map(toHcl)].join('\n\n')}\n`;
}

function busVariable(local: LocalName, busName: string): Block {
  return {
    comment: 'The bus of the bridge: `name` in bridge.config.ts.',
    head: `variable "${local}_bus_name"`,
    attributes: { type: expression('string'), default: busName },
  };
}

function ruleOf(local: LocalName, { name, pattern }: SubscriptionOrder): Block {
  return resource('aws_cloudwatch_event_rule', local, {
    name,
    event_bus_name: expression(`var.${local}_bus_name`),
    event_pattern: jsonencode(pattern as HclValue),
  });
}

function targetOf(local: LocalName, { target }: SubscriptionOrder, { arn, roleArn }: TerraformTarget): Block {
  const rule = `aws_cloudwatch_event_rule.${local}`;
  return {
    ...resource('aws_cloudwatch_event_target', local, {
      rule: expression(`${rule}.name`),
      event_bus_name: expression(`${rule}.event_bus_name`),
      target_id: target,
      arn,
      ...(roleArn !== undefined && { role_arn: roleArn }),
    }),
    blocks: [
      {
        head: 'dead_letter_config',
        attributes: { arn: expression(`aws_sqs_queue.${local}_dead_letters.arn`) },
      },
      {
        head: 'retry_policy',
        attributes: {
          maximum_event_age_in_seconds: RETRY_POLICY.maximumAgeSeconds,
          maximum_retry_attempts: RETRY_POLICY.maximumAttempts,
        },
      },
    ],
  };
}

function deadLetters(local: LocalName, name: string, comment: string): readonly Block[] {
  const queue = resource('aws_sqs_queue', `${local}_dead_letters`, {
    name: `${name}-dead-letters`,
    message_retention_seconds: DEAD_LETTER_RETENTION_SECONDS,
    sqs_managed_sse_enabled: true,
  });
  return [{ ...queue, comment }, queuePolicy(`${local}_dead_letters`, local), deadLettersAlarm(local, name)];
}

/** The queue and the topic are in one region and one AWS account, so the ARN of one follows from that of the other. */
function deadLettersAlarm(local: LocalName, name: string): Block {
  const queue = `aws_sqs_queue.${local}_dead_letters`;
  const topic = `"$\{var.${local}_bus_name}${ALARM_TOPIC_SUFFIX}"`;
  return resource('aws_cloudwatch_metric_alarm', `${local}_dead_letters`, {
    alarm_name: expression(`"$\{var.${local}_bus_name}-${name}-dead-letters"`),
    ...alarmSettings('_'),
    dimensions: { QueueName: expression(`${queue}.name`) },
    alarm_actions: [expression(`replace(replace(${queue}.arn, ":sqs:", ":sns:"), ${queue}.name, ${topic})`)],
  });
}
