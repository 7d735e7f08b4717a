import { describe, expect, test } from 'vitest';
import { createApiSelfTest } from '../../functions/api/create-self-test.ts';
import { createCommandsSelfTest } from '../../functions/commands/create-self-test.ts';
import { commandsEnvironment } from '../../functions/commands/invocation.ts';
import { createNotifierSelfTest } from '../../functions/notifier/create-self-test.ts';
import { notifierEnvironment } from '../../functions/notifier/environment.ts';
import { createPollerSelfTest } from '../../functions/poller/create-self-test.ts';
import type { FunctionName } from '../../infra/functions.ts';
import { apiEnvironment } from '../../shared/config/api-config.ts';
import { pollerEnvironment } from '../../shared/config/poller-config.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { PARTITIONS } from '../../shared/store/keys.ts';
import { synthesize } from './stack-under-test.ts';

const stack = synthesize();

const [account] = stack.config.accounts;
const payload = {
  account_id: account?.account_id,
  upstream_base_url: account?.upstream_base_url,
  key_secret_id: account?.key_secret_arn,
};
const variables = {
  TABLE_NAME: 'operations-bridge',
  EVENT_BUS_NAME: 'operations-bridge',
  ACCOUNTS: JSON.stringify([payload]),
  ALERT_CHANNELS: '[]',
  SENDING_INSTANCES_MAX: '2',
  TOKEN_PEPPER_SECRET_ID: stack.config.api.token_pepper_secret_arn,
  QUEUE_KEY_SECRET_ID: 'the-key-of-the-queue',
  COMMANDS_QUEUE_URL: 'https://sqs.example/queue.fifo',
  SLACK_WEBHOOK_SECRET_ID: stack.config.alerts.slack_webhook_secret_arn,
};
const ports = { clock: systemClock, newId: () => 'an-id' };

const selfTests = {
  poller: createPollerSelfTest(pollerEnvironment.parse(variables), ports)({ ...payload, self_test: true }),
  api: createApiSelfTest(apiEnvironment.parse(variables), ports)(),
  commands: createCommandsSelfTest(commandsEnvironment.parse(variables), ports)(),
  notifier: createNotifierSelfTest(notifierEnvironment.parse(variables), systemClock)(),
} satisfies Record<FunctionName, unknown>;

/** Lambda itself makes these calls with the role: logs, what it reads from queues, and where failed invocations go. */
const MADE_BY_LAMBDA =
  /^(WriteLog|Failures|Undelivered) |sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes)$/;

/** A self-test names these as not tried. */
const UNTRIED = /^Mail sns:Publish$|sqs:ChangeMessageVisibility$|^Publish events:PutEvents$/;

interface Statement {
  readonly Sid: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

function statementsOf(name: FunctionName): readonly Statement[] {
  // What has no room in the first policy of a role is in a managed one.
  return [...stack.ofType('AWS::IAM::Policy'), ...stack.ofType('AWS::IAM::ManagedPolicy')]
    .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(`${name}Role`))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
}

const partitionsOf = ({ Condition }: Statement): readonly string[] =>
  [Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? []].flat();

/** A query of accounts is allowed in all partitions but these. */
const otherPartitionsOf = ({ Condition }: Statement): readonly string[] | undefined => {
  const others = Condition?.['ForAllValues:StringNotLike']?.['dynamodb:LeadingKeys'];
  return others === undefined ? undefined : [others].flat();
};

const isLike = (pattern: string, text: string) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text);

/** The partition that a query asks for, or the pattern of partitions of any other call of the table. */
const partitionIn = (call: string) => /^dynamodb:\w+ (?:of|on) (\S+)/.exec(call)?.[1] ?? '';

describe('the self-test of a bridge with everything set up', () => {
  const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`;
  const queues = JSON.stringify(['arn:aws:sqs:eu-central-1:111122223333:orders-dead-letters']);
  const whole = {
    ...variables,
    SLACK_SECRET_ID: arnOf('slack'),
    PAGERDUTY_SECRET_ID: arnOf('pagerduty'),
    SIGN_IN: JSON.stringify({
      issuer: 'https://login.bridge.test',
      client_id: 'a-bridge',
      client_secret_id: arnOf('sign-in'),
      account_id: account?.account_id,
      roles: [{ value: 'on-call', scopes: ['viewer'] }],
    }),
    DEAD_LETTER_QUEUES: queues,
    CALLBACKS: 'on',
  };
  const api = createApiSelfTest(apiEnvironment.parse(whole), ports)();
  const commands = createCommandsSelfTest(commandsEnvironment.parse(whole), ports)();

  test.each(['slack', 'pagerduty', 'sign-in'])('api: reads the secret of %s', (name) => {
    expect(api.probes.map(({ call }) => call)).toContain(`secretsmanager:GetSecretValue of ${arnOf(name)}`);
  });

  test('names the queues of subscribers and the callbacks as not tried, and only where there are some', () => {
    expect(api.untried).toContain('sqs:GetQueueAttributes of the dead-letter queues of subscribers');
    expect(commands.untried).toContain('states:SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat');
    expect([...selfTests.api.untried, ...selfTests.commands.untried].join()).not.toMatch(
      /states:|GetQueueAttributes/,
    );
  });
});

const NAMES = Object.keys(selfTests) as FunctionName[];

describe('the self-test of a function and its role', () => {
  test.each(NAMES)('%s: every permission is tried, or named as one that is not', (name) => {
    const calls = selfTests[name].probes.map(({ call }) => call);
    const untriedStatements = statementsOf(name).flatMap((statement) =>
      [statement.Action].flat().flatMap((action) => {
        const permission = `${statement.Sid} ${action}`;
        if (MADE_BY_LAMBDA.test(permission) || UNTRIED.test(permission)) return [];
        const partitions = partitionsOf(statement);
        const tried = calls.filter((call) => call.startsWith(`${action} `));
        if (partitions.length === 0) return tried.length > 0 ? [] : [permission];
        return partitions
          .filter((pattern) => !tried.some((call) => isLike(pattern, partitionIn(call))))
          .map((pattern) => `${permission} of ${pattern}`);
      }),
    );

    expect(statementsOf(name).length).toBeGreaterThan(4);
    expect(untriedStatements).toEqual([]);
  });

  test.each(NAMES)('%s: every call of the table is one that the role allows', (name) => {
    const calls = selfTests[name].probes
      .map(({ call }) => call)
      .filter((call) => call.startsWith('dynamodb:'));
    const isAllowed = (call: string) =>
      statementsOf(name).some(
        (statement) =>
          [statement.Action].flat().some((action) => call.startsWith(`${action} `)) &&
          (partitionsOf(statement).some((pattern) => isLike(pattern, partitionIn(call))) ||
            otherPartitionsOf(statement)?.some((pattern) => isLike(pattern, partitionIn(call))) === false),
      );

    expect(calls.length).toBeGreaterThan(Object.keys(PARTITIONS).length / 2);
    expect(calls.filter((call) => !isAllowed(call))).toEqual([]);
  });
});
