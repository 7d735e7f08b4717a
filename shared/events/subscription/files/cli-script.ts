/** Writes a subscription as a shell script that calls the AWS CLI. */

import { DEAD_LETTER_RETENTION_SECONDS, RETRY_POLICY } from '../delivery.ts';
import type { SubscriptionOrder } from '../subscription-order.ts';
import { input, makeQueue, SCRIPT_TARGETS, type ScriptTarget } from './cli-targets.ts';

/** `head` stands at the top of the file, as a comment. */
export function cliScript(order: SubscriptionOrder, head: readonly string[]): string {
  const { needs, commands, target } = SCRIPT_TARGETS[order.target](order.name);
  const checks = Object.entries(needs).map(([name, meaning]) => `: "\${${name}:?set it to ${meaning}}"`);
  const parts = [
    ['#!/bin/sh', ...head.map((line) => `# ${line}`.trimEnd()), 'set -eu'].join('\n'),
    ...(checks.length === 0 ? [] : [checks.join('\n')]),
    ['# The bus of the bridge: `name` in bridge.config.ts.', `BUS_NAME=${quoted(order.busName)}`].join('\n'),
    putRule(order),
    deadLetters(order.name),
    ...commands,
    putTargets(order, target),
  ];
  return `${parts.join('\n\n')}\n`;
}

function putRule({ name, pattern }: SubscriptionOrder): string {
  return [
    `RULE_ARN=$(aws events put-rule --name ${name} --event-bus-name "$BUS_NAME" --query RuleArn --output text \\`,
    `  --event-pattern ${literalInput(pattern)}`,
    ')',
  ].join('\n');
}

function deadLetters(name: string): string {
  const comment = '# Events that could not be delivered wait here for 14 days. Watch its length.';
  const attributes = { MessageRetentionPeriod: String(DEAD_LETTER_RETENTION_SECONDS) };
  return [comment, makeQueue('DEAD_LETTERS', `${name}-dead-letters`, attributes)].join('\n');
}

/** The command succeeds even if a target was refused, so its count of refusals is looked at. */
function putTargets({ name, target: id }: SubscriptionOrder, target: ScriptTarget['target']): string {
  const targets = [
    {
      Id: id,
      ...target,
      DeadLetterConfig: { Arn: '$DEAD_LETTERS_ARN' },
      RetryPolicy: {
        MaximumEventAgeInSeconds: RETRY_POLICY.maximumAgeSeconds,
        MaximumRetryAttempts: RETRY_POLICY.maximumAttempts,
      },
    },
  ];
  return [
    `REFUSED=$(aws events put-targets --rule ${name} --event-bus-name "$BUS_NAME" \\`,
    `  --query FailedEntryCount --output text --targets ${input(targets)}`,
    ')',
    `test "$REFUSED" = 0 || { echo 'EventBridge refused the target of the rule ${name}.' >&2; exit 1; }`,
    `echo 'The rule ${name} delivers.'`,
  ].join('\n');
}

/** The shell leaves this document as it is: a pattern can have a dollar sign. */
function literalInput(value: unknown): string {
  return `file:///dev/stdin <<'JSON'\n${JSON.stringify(value)}\nJSON`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
