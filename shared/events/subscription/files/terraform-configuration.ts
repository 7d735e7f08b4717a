/** Writes a subscription as a Terraform configuration. */

import {
  DEAD_LETTER_RETENTION_SECONDS,
  RECEIVES_MAX,
  REQUESTS_PER_SECOND_MAX,
  RETRY_POLICY,
} from '../delivery.ts';
import { deliveryPolicy, rolePolicy, trustPolicy } from '../policies.ts';
import type { SubscriptionOrder, TargetKind } from '../subscription-order.ts';
import { type Block, type Expression, expression, type HclValue, jsonencode, toHcl } from './hcl.ts';

/** Terraform's own names begin with this word, so that several subscriptions fit into one module. */
type LocalName = string;

interface TargetPart {
  /** These stand before the rule. */
  readonly variables: readonly Block[];
  readonly resources: readonly Block[];
  readonly arn: Expression;
  readonly roleArn?: Expression;
  readonly deadLettersComment?: string;
}

/** `head` stands at the top of the file, as a comment. */
export function terraformConfiguration(order: SubscriptionOrder, head: readonly string[]): string {
  const local = localNameOf(order.name);
  const part = TARGET_PARTS[order.target](local, order.name);
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

export function localNameOf(name: string): LocalName {
  return name.replaceAll('-', '_').toLowerCase();
}

const DEAD_LETTERS_COMMENT = 'Events that could not be delivered wait here for 14 days. Watch its length.';

function busVariable(local: LocalName, busName: string): Block {
  return {
    comment: 'The bus of the bridge: `name` in bridge.config.ts.',
    head: `variable "${local}_bus_name"`,
    attributes: { type: expression('string'), default: busName },
  };
}

function variable(name: string, attributes: Block['attributes'] = {}): Block {
  return { head: `variable "${name}"`, attributes: { type: expression('string'), ...attributes } };
}

function resource(type: string, local: LocalName, attributes: Block['attributes']): Block {
  return { head: `resource "${type}" "${local}"`, attributes };
}

function ruleOf(local: LocalName, { name, pattern }: SubscriptionOrder): Block {
  return resource('aws_cloudwatch_event_rule', local, {
    name,
    event_bus_name: expression(`var.${local}_bus_name`),
    event_pattern: jsonencode(pattern as HclValue),
  });
}

function targetOf(local: LocalName, { target }: SubscriptionOrder, { arn, roleArn }: TargetPart): Block {
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
  return [{ ...queue, comment }, queuePolicy(`${local}_dead_letters`, local)];
}

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

const TARGET_PARTS: Readonly<Record<TargetKind, (local: LocalName, name: string) => TargetPart>> = {
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

function httpsPart(local: LocalName, name: string): TargetPart {
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
