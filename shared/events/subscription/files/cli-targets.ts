/** Says what each kind of target adds to a script of the AWS CLI. */

import { RECEIVES_MAX, REQUESTS_PER_SECOND_MAX } from '../delivery.ts';
import { deliveryPolicy, rolePolicy, trustPolicy } from '../policies.ts';
import type { TargetKind } from '../subscription-order.ts';

export interface ScriptTarget {
  /** Environment variables that the script needs, with what to set them to. */
  readonly needs: Readonly<Record<string, string>>;
  /** Commands that make the target, and set the variables which `target` names. */
  readonly commands: readonly string[];
  /** Members of the rule's target. A name with a dollar sign is a variable of the script. */
  readonly target: Readonly<Record<string, string>>;
}

export const SCRIPT_TARGETS: Readonly<Record<TargetKind, (name: string) => ScriptTarget>> = {
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
export function input(value: unknown): string {
  return `file:///dev/stdin <<JSON\n${JSON.stringify(value)}\nJSON`;
}

/** Sets `<VARIABLE>_URL` and `<VARIABLE>_ARN`, and lets the rule send to the queue. */
export function makeQueue(
  variable: string,
  name: string,
  attributes: Readonly<Record<string, string>>,
): string {
  const [url, arn] = [`${variable}_URL`, `${variable}_ARN`];
  const policy = deliveryPolicy({ action: 'sqs:SendMessage', to: `$${arn}`, from: '$RULE_ARN' });
  return [
    `${url}=$(aws sqs create-queue --queue-name ${name} --query QueueUrl --output text)`,
    `${arn}=$(aws sqs get-queue-attributes --queue-url "$${url}" --attribute-names QueueArn \\`,
    '  --query Attributes.QueueArn --output text)',
    `aws sqs set-queue-attributes --queue-url "$${url}" --attributes ${input({ ...attributes, Policy: JSON.stringify(policy) })}`,
  ].join('\n');
}
