/** Writes a subscription as a CloudFormation template. */

import { DEAD_LETTER_RETENTION_SECONDS, RETRY_POLICY } from '../delivery.ts';
import type { SubscriptionOrder } from '../subscription-order.ts';
import { arnOf, queuePolicy, ref, resource, TEMPLATE_TARGETS } from './cloudformation-targets.ts';
import { type Members, toYaml, type Value } from './yaml.ts';

/** `head` stands at the top of the file, as a comment. */
export function cloudFormationTemplate(order: SubscriptionOrder, head: readonly string[]): string {
  const { parameters, resources, target, outputs, comments } = TEMPLATE_TARGETS[order.target]();
  const all = { BusName: BUS_NAME_COMMENT, DeadLetters: DEAD_LETTERS_COMMENT, ...comments };
  const sections = [
    section('Parameters', { BusName: { Type: 'String', Default: order.busName }, ...parameters }, all),
    section('Resources', { Rule: ruleOf(order, target), ...resources, ...deadLetters() }, all),
    section('Outputs', { ...outputs, DeadLettersUrl: { Value: ref('DeadLetters') } }, all),
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
const DEAD_LETTERS_COMMENT = 'Events that could not be delivered wait here for 14 days. Watch its length.';

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
