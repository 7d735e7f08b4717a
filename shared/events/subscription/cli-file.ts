/** Writes a subscription as a shell script that calls the AWS CLI. */

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

interface ScriptTarget {
  /** Environment variables that the script needs, with what to set them to. */
  readonly needs: Readonly<Record<string, string>>;
  /** Commands that make the target, and set the variables which `target` names. */
  readonly commands: readonly string[];
  /** Members of the rule's target. A name with a dollar sign is a variable of the script. */
  readonly target: Readonly<Record<string, string>>;
}

const SCRIPT_TARGETS: Readonly<Record<TargetKind, (name: string) => ScriptTarget>> = {
  sqs: (name) => ({
    needs: {},
    commands: [
      makeQueue('QUEUE', name, {
        RedrivePolicy: JSON.stringify({
          deadLetterTargetArn: '$DEAD_LETTERS_ARN',
          maxReceiveCount: RECEIVES_MAX,
        }),
      }),
    ],
    target: { Arn: '$QUEUE_ARN' },
  }),
  lambda: (name) => ({
    needs: { FUNCTION_ARN: 'the ARN of the function' },
    commands: [
      [
        `aws lambda add-permission --function-name "$FUNCTION_ARN" --statement-id ${name} \\`,
        '  --action lambda:InvokeFunction --principal events.amazonaws.com --source-arn "$RULE_ARN" > /dev/null',
      ].join('\n'),
    ],
    target: { Arn: '$FUNCTION_ARN' },
  }),
  eventbus: (name) => ({
    needs: {
      TARGET_BUS_ARN: 'the ARN of the bus; if it is of another account, its policy must allow this one',
    },
    commands: [makeRole(name, rolePolicy('events:PutEvents', '$TARGET_BUS_ARN'))],
    target: { Arn: '$TARGET_BUS_ARN', RoleArn: '$ROLE_ARN' },
  }),
  https: (name) => ({
    needs: {
      URL: 'the HTTPS address',
      KEY_HEADER: 'the header that carries the key, such as x-api-key',
      KEY: 'the key, by which the receiver can check who sends the events',
    },
    commands: [
      [
        '# The key goes through a pipe, because other users of this machine can read the arguments of a process.',
        `QUOTED_KEY=$(printf '%s' "$KEY" | sed 's/["\\\\]/\\\\&/g')`,
        `CONNECTION_ARN=$(printf '{"ApiKeyAuthParameters":{"ApiKeyName":"%s","ApiKeyValue":"%s"}}' "$KEY_HEADER" "$QUOTED_KEY" |`,
        `  aws events create-connection --name ${name} --authorization-type API_KEY \\`,
        '    --auth-parameters file:///dev/stdin --query ConnectionArn --output text)',
        '# As an option, the address would be fetched by version 1 of the AWS CLI.',
        'DESTINATION_ARN=$(aws events create-api-destination --query ApiDestinationArn --output text \\',
        `  --cli-input-json "$(cat <<JSON\n${JSON.stringify(apiDestination(name))}\nJSON\n)")`,
      ].join('\n'),
      makeRole(name, rolePolicy('events:InvokeApiDestination', '$DESTINATION_ARN')),
    ],
    target: { Arn: '$DESTINATION_ARN', RoleArn: '$ROLE_ARN' },
  }),
  email: (name) => ({
    needs: { EMAIL: 'the e-mail address' },
    commands: [
      [
        `TOPIC_ARN=$(aws sns create-topic --name ${name} --query TopicArn --output text)`,
        `aws sns set-topic-attributes --topic-arn "$TOPIC_ARN" --attribute-name Policy --attribute-value ${input(
          deliveryPolicy({ action: 'sns:Publish', to: '$TOPIC_ARN', from: '$RULE_ARN' }),
        )}`,
        '# Mail is sent only after the link in the first mail was opened.',
        'aws sns subscribe --topic-arn "$TOPIC_ARN" --protocol email --notification-endpoint "$EMAIL" > /dev/null',
      ].join('\n'),
    ],
    target: { Arn: '$TOPIC_ARN' },
  }),
};

function apiDestination(name: string): object {
  return {
    Name: name,
    ConnectionArn: '$CONNECTION_ARN',
    InvocationEndpoint: '$URL',
    HttpMethod: 'POST',
    InvocationRateLimitPerSecond: REQUESTS_PER_SECOND_MAX,
  };
}

/** Sets `ROLE_ARN`, which EventBridge assumes to deliver. */
function makeRole(name: string, policy: object): string {
  return [
    'ACCOUNT_ID=$(aws sts get-caller-identity --query Account --output text)',
    `ROLE_ARN=$(aws iam create-role --role-name ${name}-delivery --query Role.Arn --output text \\`,
    `  --assume-role-policy-document ${input(trustPolicy('$ACCOUNT_ID'))}`,
    ')',
    `aws iam put-role-policy --role-name ${name}-delivery --policy-name deliver --policy-document ${input(policy)}`,
    '# A new role can be used after some seconds.',
    'sleep 10',
  ].join('\n');
}

/** The shell puts the values of its variables into this document. */
function input(value: unknown): string {
  return `file:///dev/stdin <<JSON\n${JSON.stringify(value)}\nJSON`;
}

/** Sets `<VARIABLE>_URL` and `<VARIABLE>_ARN`, and lets the rule send to the queue. */
function makeQueue(variable: string, name: string, attributes: Readonly<Record<string, string>>): string {
  const [url, arn] = [`${variable}_URL`, `${variable}_ARN`];
  const policy = deliveryPolicy({ action: 'sqs:SendMessage', to: `$${arn}`, from: '$RULE_ARN' });
  return [
    `${url}=$(aws sqs create-queue --queue-name ${name} --query QueueUrl --output text)`,
    `${arn}=$(aws sqs get-queue-attributes --queue-url "$${url}" --attribute-names QueueArn \\`,
    '  --query Attributes.QueueArn --output text)',
    `aws sqs set-queue-attributes --queue-url "$${url}" --attributes ${input({ ...attributes, Policy: JSON.stringify(policy) })}`,
  ].join('\n');
}

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

/** PutRule replaces a rule of the same name without a word, which may belong to another team. */
function putRule({ name, pattern }: SubscriptionOrder): string {
  return [
    `PATTERN=$(cat ${literalInput(pattern)}`,
    ')',
    `FOUND=$(aws events list-rules --name-prefix ${name} --event-bus-name "$BUS_NAME" --output text \\`,
    `  --query "Rules[?Name=='${name}'].EventPattern")`,
    'test -z "$FOUND" || test "$FOUND" = "$PATTERN" || {',
    `  echo "The bus $BUS_NAME has a rule ${name} with another pattern, which this script would replace. Write the file with another --name, or remove that rule first if it is yours." >&2`,
    '  exit 1',
    '}',
    `RULE_ARN=$(aws events put-rule --name ${name} --event-bus-name "$BUS_NAME" --query RuleArn --output text \\`,
    '  --event-pattern "$PATTERN")',
  ].join('\n');
}

function deadLetters(name: string): string {
  const attributes = { MessageRetentionPeriod: String(DEAD_LETTER_RETENTION_SECONDS) };
  const queue = makeQueue('DEAD_LETTERS', `${name}-dead-letters`, attributes);
  return [`# ${DEAD_LETTERS_COMMENT}`, queue, deadLettersAlarm(name)].join('\n');
}

/** The queue and the topic are in one region and one AWS account, so the ARN of one follows from that of the other. */
function deadLettersAlarm(name: string): string {
  const settings = Object.entries(alarmSettings('-')).map(
    ([setting, value]) => `--${setting} ${typeof value === 'string' ? quoted(value) : value}`,
  );
  return [
    `ALARM_TOPIC_ARN=$(printf '%s' "$DEAD_LETTERS_ARN" | sed "s/:sqs:/:sns:/; s/[^:]*\\$/$BUS_NAME${ALARM_TOPIC_SUFFIX}/")`,
    `aws cloudwatch put-metric-alarm --alarm-name "$BUS_NAME-${name}-dead-letters" --alarm-actions "$ALARM_TOPIC_ARN" \\`,
    `  --dimensions Name=QueueName,Value=${name}-dead-letters \\`,
    `  ${settings.join(' ')}`,
  ].join('\n');
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
  return `<<'JSON'\n${JSON.stringify(value)}\nJSON`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
