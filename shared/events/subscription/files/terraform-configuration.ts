/** Writes a subscription as a Terraform configuration. */

import { DEAD_LETTER_RETENTION_SECONDS, RETRY_POLICY } from '../delivery.ts';
import type { SubscriptionOrder } from '../subscription-order.ts';
import { type Block, expression, type HclValue, jsonencode, toHcl } from './hcl.ts';
import {
  type LocalName,
  localNameOf,
  queuePolicy,
  resource,
  TERRAFORM_TARGETS,
  type TerraformTarget,
} from './terraform-targets.ts';

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

const DEAD_LETTERS_COMMENT = 'Events that could not be delivered wait here for 14 days. Watch its length.';

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
  return [{ ...queue, comment }, queuePolicy(`${local}_dead_letters`, local)];
}
