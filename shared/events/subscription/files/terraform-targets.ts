/** Says what each kind of target adds to a Terraform configuration. */

import { RECEIVES_MAX, REQUESTS_PER_SECOND_MAX } from '../delivery.ts';
import { deliveryPolicy, rolePolicy, trustPolicy } from '../policies.ts';
import type { TargetKind } from '../subscription-order.ts';
import { type Block, type Expression, expression, type HclValue, jsonencode } from './hcl.ts';

/** Terraform's own names begin with this word, so that several subscriptions fit into one module. */
export type LocalName = string;

export interface TerraformTarget {
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

export const TERRAFORM_TARGETS: Readonly<
  Record<TargetKind, (local: LocalName, name: string) => TerraformTarget>
> = {
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
export function resource(type: string, local: LocalName, attributes: Block['attributes']): Block {
  return { head: `resource "${type}" "${local}"`, attributes };
}

/** Lets the rule send to the queue. */
export function queuePolicy(queue: LocalName, local: LocalName): Block {
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
