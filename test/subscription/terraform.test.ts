import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { subscriptionPattern } from '../../shared/events/subscription/subscription.ts';
import { type HclValue, toHcl } from '../../shared/events/subscription/terraform-file.ts';
import { parseHcl } from './parse-hcl.ts';
import { aSubscription, fileOf, subscriptions, TARGETS } from './subscriptions.ts';

type Block = Readonly<Record<string, unknown>>;

/** As the parser gives it: blocks by type and name, each in a list, because a block can be repeated. */
interface Configuration {
  readonly variable: Readonly<Record<string, readonly Block[]>>;
  readonly resource: Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;
  readonly data?: Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;
}

async function parseConfiguration(text: string): Promise<Configuration> {
  return (await parseHcl(text)) as Configuration;
}

const textOf = (target: (typeof TARGETS)[number], fields = {}) =>
  fileOf(aSubscription(fields), { target, form: 'terraform' }).text;

/** The parser leaves expressions as texts in `${}`, so what `jsonencode` encodes is parsed as a value of its own. */
async function decoded(encoded: unknown): Promise<unknown> {
  const [, value] = /^\$\{jsonencode\(([\s\S]*)\)\}$/.exec(String(encoded)) ?? [];
  const { locals } = (await parseHcl(`locals {\n  value = ${value}\n}\n`)) as {
    readonly locals: readonly { readonly value: unknown }[];
  };
  return locals[0]?.value;
}

/** Terraform undoes the doubling of `${` and `%{` when it evaluates a text, which the parser does not do. */
function evaluated(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/([$%])\1(?=\{)/g, '$1');
  if (Array.isArray(value)) return value.map(evaluated);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, evaluated(each)]));
}

function onlyBlock(configuration: Configuration, type: string, name = 'my_rule2'): Block {
  return configuration.resource[type]?.[name]?.[0] ?? {};
}

describe.each(TARGETS)('the configuration for %s', (target) => {
  test('defines everything that it refers to', async () => {
    const text = textOf(target);
    const { variable, resource, data = {} } = await parseConfiguration(text);
    const defined = new Set([
      ...Object.keys(variable).map((name) => `var.${name}`),
      ...Object.entries(resource).flatMap(([type, named]) =>
        Object.keys(named).map((name) => `${type}.${name}`),
      ),
      ...Object.entries(data).flatMap(([type, named]) =>
        Object.keys(named).map((name) => `data.${type}.${name}`),
      ),
    ]);
    const code = text.replaceAll(/^\s*#.*$|"[^"]*"/gm, '');
    const referred = [...code.matchAll(/\b(var\.\w+|data\.\w+\.\w+|aws_\w+\.\w+)/g)].map((match) => match[1]);

    expect(referred.length).toBeGreaterThan(5);
    expect(referred.filter((name) => !defined.has(name ?? ''))).toEqual([]);
  });

  test('has a dead-letter queue that the rule may send to, and a retry policy', async () => {
    const configuration = await parseConfiguration(textOf(target));
    const { dead_letter_config, retry_policy, event_bus_name, rule } = onlyBlock(
      configuration,
      'aws_cloudwatch_event_target',
    );
    const policy = onlyBlock(configuration, 'aws_sqs_queue_policy', 'my_rule2_dead_letters');

    expect(dead_letter_config).toEqual([{ arn: `$\{aws_sqs_queue.my_rule2_dead_letters.arn}` }]);
    expect(retry_policy).toEqual([{ maximum_event_age_in_seconds: 86_400, maximum_retry_attempts: 185 }]);
    expect({ event_bus_name, rule }).toEqual({
      event_bus_name: `$\{aws_cloudwatch_event_rule.my_rule2.event_bus_name}`,
      rule: `$\{aws_cloudwatch_event_rule.my_rule2.name}`,
    });
    expect(onlyBlock(configuration, 'aws_cloudwatch_metric_alarm', 'my_rule2_dead_letters')).toMatchObject({
      threshold: 0,
      comparison_operator: 'GreaterThanThreshold',
      dimensions: { QueueName: `$\{aws_sqs_queue.my_rule2_dead_letters.name}` },
    });
    expect(policy['queue_url']).toBe(`$\{aws_sqs_queue.my_rule2_dead_letters.id}`);
    expect(await decoded(policy['policy'])).toEqual(
      allowing('sqs:SendMessage', `$\{aws_sqs_queue.my_rule2_dead_letters.arn}`),
    );
  });

  test('has the pattern of the subscription, whatever its values look like', async () => {
    await fc.assert(
      fc.asyncProperty(subscriptions, async (subscription) => {
        const { text } = fileOf(subscription, { target, form: 'terraform' });
        const rule = onlyBlock(await parseConfiguration(text), 'aws_cloudwatch_event_rule');

        expect(evaluated(await decoded(rule['event_pattern']))).toEqual(subscriptionPattern(subscription));
      }),
      { numRuns: 20 },
    );
  });
});

const allowing = (action: string, resource: string) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { Service: 'events.amazonaws.com' },
      Action: action,
      Resource: resource,
      Condition: { ArnEquals: { 'aws:SourceArn': `$\{aws_cloudwatch_event_rule.my_rule2.arn}` } },
    },
  ],
});

describe('the rule may deliver', () => {
  const deliversTo = (configuration: Configuration) =>
    onlyBlock(configuration, 'aws_cloudwatch_event_target');

  test.each([
    ['sqs', 'aws_sqs_queue', 'aws_sqs_queue_policy', 'sqs:SendMessage'],
    ['email', 'aws_sns_topic', 'aws_sns_topic_policy', 'sns:Publish'],
  ] as const)('to %s by the policy of its %s', async (target, type, policyType, action) => {
    const configuration = await parseConfiguration(textOf(target));
    const arn = `$\{${type}.my_rule2.arn}`;

    expect(deliversTo(configuration)['arn']).toBe(arn);
    expect(await decoded(onlyBlock(configuration, policyType)['policy'])).toEqual(allowing(action, arn));
  });

  test('to lambda by a permission of the function', async () => {
    const configuration = await parseConfiguration(textOf('lambda'));
    const { statement_id: _id, ...permission } = onlyBlock(configuration, 'aws_lambda_permission');

    expect(deliversTo(configuration)['arn']).toBe(`$\{var.my_rule2_function_arn}`);
    expect(permission).toEqual({
      action: 'lambda:InvokeFunction',
      function_name: `$\{var.my_rule2_function_arn}`,
      principal: 'events.amazonaws.com',
      source_arn: `$\{aws_cloudwatch_event_rule.my_rule2.arn}`,
    });
  });

  test.each([
    ['eventbus', 'events:PutEvents', 'var.my_rule2_target_bus_arn'],
    ['https', 'events:InvokeApiDestination', 'aws_cloudwatch_event_api_destination.my_rule2.arn'],
  ] as const)('to %s by a role that only rules of this account can use', async (target, action, arn) => {
    const configuration = await parseConfiguration(textOf(target));
    const role = onlyBlock(configuration, 'aws_iam_role');
    const policy = onlyBlock(configuration, 'aws_iam_role_policy');

    expect(deliversTo(configuration)).toMatchObject({
      arn: `$\{${arn}}`,
      role_arn: `$\{aws_iam_role.my_rule2.arn}`,
    });
    expect(await decoded(policy['policy'])).toMatchObject({
      Statement: [{ Effect: 'Allow', Action: action, Resource: `$\{${arn}}` }],
    });
    expect(await decoded(role['assume_role_policy'])).toMatchObject({
      Statement: [
        {
          Condition: {
            StringEquals: { 'aws:SourceAccount': `$\{data.aws_caller_identity.my_rule2.account_id}` },
          },
        },
      ],
    });
  });
});

test('the key of an HTTPS address is a variable that Terraform does not show', async () => {
  const { variable } = await parseConfiguration(textOf('https'));

  expect(variable['my_rule2_key']).toEqual([{ type: `$\{string}`, sensitive: true }]);
});

test('every value that JSON knows comes back from the parser as it was', async () => {
  const json = fc.letrec<{ value: HclValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string({
        unit: fc.oneof(fc.constantFrom('$', '%', '{', '"', '\\', '\b', '\f', '\n', 'é'), fc.string()),
      }),
      fc.integer(),
      fc.boolean(),
      fc.array(tie('value')),
      fc.dictionary(fc.stringMatching(/^[a-z$:-]{1,8}$/), tie('value')),
    ),
  })).value;

  await fc.assert(
    fc.asyncProperty(json, async (value) => {
      const text = toHcl({ head: 'locals', attributes: { value } });
      const { locals } = (await parseHcl(text)) as {
        locals: readonly [{ value: unknown }];
      };

      expect(evaluated(locals[0].value)).toEqual(value);
    }),
    { numRuns: 100 },
  );
});

test('"terraform fmt" would change nothing, where it is installed', { timeout: 120_000 }, ({ skip }) => {
  if (spawnSync('terraform', ['version']).status !== 0) skip('not checked: terraform is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'configurations-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const target of TARGETS)
    writeFileSync(
      join(folder, `${target}.tf`),
      textOf(target, { projects: ['a-1', 'b-2'], accounts: ['main'], replays: 'left_out' }),
    );

  const { status, stdout } = spawnSync('terraform', ['fmt', '-check', '-diff', folder], { encoding: 'utf8' });

  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});
