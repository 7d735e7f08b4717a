import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TargetKind } from '../../shared/events/subscription/subscription.ts';
import { subscriptionPattern } from '../../shared/events/subscription/subscription.ts';
import { type AwsCall, runScript, type ScriptRun } from './recorded-aws.ts';
import { aSubscription, fileOf, subscriptions, TARGETS } from './subscriptions.ts';

const RULE_ARN = 'arn:aws:events:eu-central-1:111122223333:rule/the-bus/my-Rule2';
const DEAD_LETTERS_ARN = 'arn-of:https://sqs.example/111122223333/my-Rule2-dead-letters';
const KEY = 'canary "key\\ %s $(id)';
const ENVIRONMENTS: Readonly<Record<TargetKind, Readonly<Record<string, string>>>> = {
  sqs: {},
  lambda: { FUNCTION_ARN: 'arn:of:function' },
  eventbus: { TARGET_BUS_ARN: 'arn:of:bus' },
  https: { URL: 'https://hook.example/events', KEY_HEADER: 'x-api-key', KEY },
  email: { EMAIL: 'team@example.com' },
};

const subscription = aSubscription({ projects: ["it's", '$HOME', '`id`'] });
const scriptFor = (target: TargetKind) => fileOf(subscription, { target, form: 'cli' }).text;
const runs = new Map(
  TARGETS.map((target) => [target, runScript(scriptFor(target), ENVIRONMENTS[target])] as const),
);
const runOf = (target: TargetKind) => runs.get(target) as ScriptRun;

function callOf(run: ScriptRun, name: string, option: string, value: string): AwsCall {
  const found = run.calls.find((call) => call.name === name && call.options[option] === value);
  if (found === undefined) throw new Error(`The script has not called ${name} with --${option} ${value}`);
  return found;
}

/** The attributes of a queue hold JSON within JSON. */
function policyOf(run: ScriptRun, queue: string): unknown {
  const url = `https://sqs.example/111122223333/${queue}`;
  const { options } = callOf(run, 'sqs set-queue-attributes', 'queue-url', url);
  return JSON.parse((JSON.parse(options['attributes'] ?? '') as { Policy: string }).Policy);
}

const allowing = (action: string, resource: string) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { Service: 'events.amazonaws.com' },
      Action: action,
      Resource: resource,
      Condition: { ArnEquals: { 'aws:SourceArn': RULE_ARN } },
    },
  ],
});

describe.each(TARGETS)('the script for %s', (target) => {
  const run = runOf(target);

  test('ends well and says so', () => {
    expect(run).toMatchObject({ status: 0, stdout: 'The rule my-Rule2 delivers.\n', stderr: '' });
  });

  test('puts the rule onto the bus, with the pattern of the subscription', () => {
    const { options } = callOf(run, 'events put-rule', 'name', 'my-Rule2');

    expect(options['event-bus-name']).toBe('the-bus');
    expect(JSON.parse(options['event-pattern'] ?? '')).toEqual(subscriptionPattern(subscription));
  });

  test('adds the target last, with a retry policy and a dead-letter queue that the rule may send to', () => {
    const { name, options } = run.calls.at(-1) as AwsCall;

    expect(name).toBe('events put-targets');
    expect(options).toMatchObject({ rule: 'my-Rule2', 'event-bus-name': 'the-bus' });
    expect(JSON.parse(options['targets'] ?? '')).toEqual([
      {
        ...delivery(target),
        Id: target,
        DeadLetterConfig: { Arn: DEAD_LETTERS_ARN },
        RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
      },
    ]);
    const { options: alarm } = callOf(
      run,
      'cloudwatch put-metric-alarm',
      'alarm-name',
      'the-bus-my-Rule2-dead-letters',
    );
    expect(alarm).toMatchObject({ dimensions: 'Name=QueueName,Value=my-Rule2-dead-letters', threshold: '0' });
    expect(alarm['alarm-actions']).toMatch(/:the-bus-alarms$/);
    expect(policyOf(run, 'my-Rule2-dead-letters')).toEqual(allowing('sqs:SendMessage', DEAD_LETTERS_ARN));
  });

  test('ends with 1 and a sentence when EventBridge refuses the target', () => {
    const refused = runScript(scriptFor(target), ENVIRONMENTS[target], { 'events put-targets': '1' });

    expect(refused).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'EventBridge refused the target of the rule my-Rule2.\n',
    });
  });
});

function delivery(target: TargetKind): object {
  const [events, role] = [
    'arn:aws:events:eu-central-1:111122223333',
    'arn:aws:iam::111122223333:role/my-Rule2-delivery',
  ];
  return {
    sqs: { Arn: 'arn-of:https://sqs.example/111122223333/my-Rule2' },
    lambda: { Arn: 'arn:of:function' },
    eventbus: { Arn: 'arn:of:bus', RoleArn: role },
    https: { Arn: `${events}:api-destination/the-destination`, RoleArn: role },
    email: { Arn: 'arn:aws:sns:eu-central-1:111122223333:my-Rule2' },
  }[target];
}

describe('the rule may deliver', () => {
  test('to sqs by the policy of the queue, which sends what fails five times to the dead letters', () => {
    const { options } = callOf(
      runOf('sqs'),
      'sqs set-queue-attributes',
      'queue-url',
      'https://sqs.example/111122223333/my-Rule2',
    );
    const { RedrivePolicy } = JSON.parse(options['attributes'] ?? '') as { RedrivePolicy: string };

    expect(policyOf(runOf('sqs'), 'my-Rule2')).toEqual(
      allowing('sqs:SendMessage', 'arn-of:https://sqs.example/111122223333/my-Rule2'),
    );
    expect(JSON.parse(RedrivePolicy)).toEqual({ deadLetterTargetArn: DEAD_LETTERS_ARN, maxReceiveCount: 5 });
  });

  test('to lambda by a permission of the function', () => {
    expect(
      callOf(runOf('lambda'), 'lambda add-permission', 'function-name', 'arn:of:function').options,
    ).toEqual({
      'function-name': 'arn:of:function',
      'statement-id': 'my-Rule2',
      action: 'lambda:InvokeFunction',
      principal: 'events.amazonaws.com',
      'source-arn': RULE_ARN,
    });
  });

  test('to email by the policy of the topic', () => {
    const topic = 'arn:aws:sns:eu-central-1:111122223333:my-Rule2';
    const { options } = callOf(runOf('email'), 'sns set-topic-attributes', 'topic-arn', topic);

    expect(JSON.parse(options['attribute-value'] ?? '')).toEqual(allowing('sns:Publish', topic));
    expect(callOf(runOf('email'), 'sns subscribe', 'topic-arn', topic).options).toMatchObject({
      protocol: 'email',
      'notification-endpoint': 'team@example.com',
    });
  });

  test.each([
    ['eventbus', 'events:PutEvents', 'arn:of:bus'],
    [
      'https',
      'events:InvokeApiDestination',
      'arn:aws:events:eu-central-1:111122223333:api-destination/the-destination',
    ],
  ] as const)('to %s by a role that only rules of this account can use', (target, action, resource) => {
    const [role, name] = ['my-Rule2-delivery', 'role-name'] as const;
    const trust = callOf(runOf(target), 'iam create-role', name, role).options['assume-role-policy-document'];
    const policy = callOf(runOf(target), 'iam put-role-policy', name, role).options['policy-document'];

    expect(JSON.parse(policy ?? '').Statement).toEqual([
      { Effect: 'Allow', Action: action, Resource: resource },
    ]);
    expect(JSON.parse(trust ?? '').Statement[0].Condition).toEqual({
      StringEquals: { 'aws:SourceAccount': '111122223333' },
    });
  });
});

test('the address and the key reach AWS, and the key stands in no argument of a process and not in the script', () => {
  const { calls } = runOf('https');
  const { options } = callOf(runOf('https'), 'events create-connection', 'name', 'my-Rule2');

  expect(JSON.parse(options['auth-parameters'] ?? '')).toEqual({
    ApiKeyAuthParameters: { ApiKeyName: 'x-api-key', ApiKeyValue: KEY },
  });
  const destination = calls.find(({ name }) => name === 'events create-api-destination');
  expect(JSON.parse(destination?.options['cli-input-json'] ?? '')).toEqual({
    Name: 'my-Rule2',
    ConnectionArn: 'arn:aws:events:eu-central-1:111122223333:connection/my-Rule2',
    InvocationEndpoint: 'https://hook.example/events',
    HttpMethod: 'POST',
    InvocationRateLimitPerSecond: 10,
  });
  expect(JSON.stringify(calls.map(({ args }) => args))).not.toContain('canary');
  expect(scriptFor('https')).not.toContain('canary');
});

test.each(TARGETS.filter((target) => target !== 'sqs'))(
  'the script for %s calls nothing while a value is missing, and says what to set',
  (target) => {
    const { status, stderr, calls } = runScript(scriptFor(target), {});

    expect(status).not.toBe(0);
    expect(stderr).toMatch(/: set it to the /);
    expect(calls).toEqual([]);
  },
);

test('the script calls nothing more when the bus has a rule of its name with another pattern', () => {
  const found = { 'events list-rules': '{"source":["operations-bridge"]}' };
  const { status, stderr, calls } = runScript(scriptFor('sqs'), {}, found);

  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'The bus the-bus has a rule my-Rule2 with another pattern, which this script would replace. Write the file with another --name, or remove that rule first if it is yours.\n',
  });
  expect(calls.map(({ name }) => name)).toEqual(['events list-rules']);
});

test('the script runs again where its own rule is', () => {
  const own = aSubscription({ subject: 'operations', projects: ["it's", '$HOME', '`id`'] });
  const found = { 'events list-rules': JSON.stringify(subscriptionPattern(own)) };

  expect(runScript(fileOf(own, { target: 'sqs', form: 'cli' }).text, {}, found)).toMatchObject({
    status: 0,
    stderr: '',
  });
});

test('the script stops at the first call that fails', () => {
  const failing = scriptFor('sqs').replace('aws sqs create-queue', 'aws sqs create-queue broken');
  const { status, calls } = runScript(failing, {});

  expect(status).toBe(252);
  expect(calls.map(({ name }) => name)).toEqual(['events list-rules', 'events put-rule']);
});

test('every pattern stands in the script as it is, whatever its values look like', () => {
  fc.assert(
    fc.property(subscriptions, fc.constantFrom(...TARGETS), (each, target) => {
      const { text } = fileOf(each, { target, form: 'cli' });
      const [, document] = /<<'JSON'\n(.*)\nJSON\n/.exec(text) ?? [];

      expect(JSON.parse(document ?? '')).toEqual(subscriptionPattern(each));
    }),
  );
});
