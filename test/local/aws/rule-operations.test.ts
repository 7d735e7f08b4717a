import {
  CreateApiDestinationCommand,
  CreateConnectionCommand,
  DeleteConnectionCommand,
  DeleteRuleCommand,
  DescribeApiDestinationCommand,
  DescribeConnectionCommand,
  DescribeRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
  type Target,
} from '@aws-sdk/client-eventbridge';
import { describe, expect, test } from 'vitest';
import { openSubscriptions, QUEUE_ARN } from './subscriptions-under-test.ts';

const RULE = { Rule: 'rule', EventBusName: 'bus' };
const NAME = { Name: 'rule', EventBusName: 'bus' };
const queueTarget = (Id: string): Target => ({ Id, Arn: `${QUEUE_ARN}failures` });

describe('a rule over EventBridge', () => {
  test('is described and listed with its pattern, state and targets', async () => {
    const { createRule, events } = await openSubscriptions();
    await createRule(queueTarget('one'));
    const rule = {
      Name: 'rule',
      Arn: 'arn:aws:events:us-east-1:000000000000:rule/bus/rule',
      EventPattern: '{"detail":{"status":["failed"]}}',
      State: 'ENABLED',
      EventBusName: 'bus',
    };

    expect(await events.send(new DescribeRuleCommand(NAME))).toMatchObject(rule);
    expect((await events.send(new ListRulesCommand({ EventBusName: 'bus' }))).Rules).toEqual([rule]);
    expect((await events.send(new ListTargetsByRuleCommand(RULE))).Targets).toEqual([queueTarget('one')]);
  });

  test('is listed page by page, by its bus and the begin of its name', async () => {
    const { events } = await openSubscriptions();
    for (const Name of ['b2', 'b1', 'a', 'b3'])
      await events.send(new PutRuleCommand({ Name, EventBusName: 'bus', EventPattern: '{"source":["x"]}' }));
    const list = (fields: object) =>
      events.send(new ListRulesCommand({ EventBusName: 'bus', NamePrefix: 'b', Limit: 2, ...fields }));
    const first = await list({});
    const second = await list({ NextToken: first.NextToken });

    expect([first, second].map(({ Rules = [] }) => Rules.map(({ Name }) => Name))).toEqual([
      ['b1', 'b2'],
      ['b3'],
    ]);
    expect(second.NextToken).toBeUndefined();
    expect((await events.send(new ListRulesCommand({}))).Rules).toEqual([]);
  });

  test('delivers nothing while it is disabled', async () => {
    const { createQueue, createRule, publish, receive, events } = await openSubscriptions();
    const url = await createQueue('failures');
    await createRule(queueTarget('one'));
    await events.send(new DisableRuleCommand(NAME));
    await publish();
    expect(await receive(url)).toEqual([]);
    await events.send(new EnableRuleCommand(NAME));
    await publish();

    expect(await receive(url)).toHaveLength(1);
  });

  test('is deleted only without targets, and a second time without an error', async () => {
    const { createRule, events } = await openSubscriptions();
    await createRule(queueTarget('one'));
    const remove = () => events.send(new DeleteRuleCommand(NAME));
    await expect(remove()).rejects.toMatchObject({
      name: 'ValidationException',
      message: "Rule can't be deleted since it has targets.",
    });
    await events.send(new RemoveTargetsCommand({ ...RULE, Ids: ['one', 'unknown'] }));
    await remove();
    await remove();

    await expect(events.send(new DescribeRuleCommand(NAME))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      message: 'Rule rule does not exist on EventBus bus.',
    });
  });

  test('has at most five targets, and a bus at most 300 rules', async () => {
    const { createRule, events } = await openSubscriptions();
    const put = (Name: string) =>
      events.send(new PutRuleCommand({ Name, EventBusName: 'bus', EventPattern: '{"source":["x"]}' }));
    await createRule(...['1', '2', '3', '4', '5'].map(queueTarget));
    const sixth = new PutTargetsCommand({ ...RULE, Targets: [queueTarget('6')] });
    await expect(events.send(sixth)).rejects.toMatchObject({ name: 'LimitExceededException' });
    for (let count = 1; count < 300; count++) await put(`rule-${count}`);

    await expect(put('one-more')).rejects.toMatchObject({ name: 'LimitExceededException' });
    await expect(put('rule')).resolves.toBeDefined();
  });

  test('of the bridge itself is shown, and cannot be changed', async () => {
    const { aws, events } = await openSubscriptions();
    const pattern = { source: ['x'] };
    aws.bus.putRule({ name: 'rule', busName: 'bus', pattern, managedBy: 'bridge', targets: [() => {}] });

    expect(await events.send(new DescribeRuleCommand(NAME))).toMatchObject({ ManagedBy: 'bridge' });
    for (const change of [
      new PutRuleCommand({ ...NAME, EventPattern: '{"source":["y"]}' }),
      new DisableRuleCommand(NAME),
      new DeleteRuleCommand(NAME),
      new PutTargetsCommand({ ...RULE, Targets: [queueTarget('one')] }),
    ])
      await expect(events.send(change as PutRuleCommand)).rejects.toMatchObject({
        name: 'ManagedRuleException',
      });
  });

  test.each<readonly [string, Target, RegExp]>([
    [
      'a function',
      { Id: '1', Arn: 'arn:aws:lambda:us-east-1:000000000000:function:f' },
      /SQS queues and to API destinations only/,
    ],
    ['a FIFO queue', { Id: '1', Arn: `${QUEUE_ARN}a.fifo` }, /FIFO/],
    ['two inputs', { ...queueTarget('1'), Input: '{}', InputPath: '$.detail' }, /Only one of Input/],
    ['an input that is not JSON', { ...queueTarget('1'), Input: 'text' }, /Input is not JSON/],
    ['a path with a wildcard', { ...queueTarget('1'), InputPath: '$.detail.*' }, /The path \$\.detail\.\*/],
    [
      'a template that does not become JSON',
      { ...queueTarget('1'), InputTransformer: { InputTemplate: '{"a": text}' } },
      /does not become JSON/,
    ],
  ])('refuses %s as a target, and says why', async (_what, target, reason) => {
    const { createRule, events } = await openSubscriptions();
    await createRule(queueTarget('fine'));

    await expect(events.send(new PutTargetsCommand({ ...RULE, Targets: [target] }))).rejects.toMatchObject({
      name: 'ValidationException',
      message: expect.stringMatching(reason),
    });
  });
});

describe('connections and API destinations', () => {
  test('are described without their secrets', async () => {
    const { createDestination, events } = await openSubscriptions();
    const ApiDestinationArn = await createDestination('https://example.org/hook');
    const connection = await events.send(new DescribeConnectionCommand({ Name: 'hook' }));

    expect(connection.AuthParameters).toEqual({ ApiKeyAuthParameters: { ApiKeyName: 'X-Key' } });
    expect(await events.send(new DescribeApiDestinationCommand({ Name: 'hook' }))).toMatchObject({
      ApiDestinationArn,
      ApiDestinationState: 'ACTIVE',
      InvocationEndpoint: 'https://example.org/hook',
    });
  });

  test('are refused when the name is taken, the connection is unknown, or the address is a foreign one without TLS', async () => {
    const { createDestination, events } = await openSubscriptions();
    await createDestination('http://localhost:1/');
    const { ConnectionArn } = await events.send(new DescribeConnectionCommand({ Name: 'hook' }));
    const create = (InvocationEndpoint: string, arn = ConnectionArn) =>
      events.send(
        new CreateApiDestinationCommand({
          Name: 'other',
          ConnectionArn: arn,
          InvocationEndpoint,
          HttpMethod: 'POST',
        }),
      );
    const again = new CreateConnectionCommand({
      Name: 'hook',
      AuthorizationType: 'BASIC',
      AuthParameters: {},
    });

    await expect(events.send(again)).rejects.toMatchObject({ name: 'ResourceAlreadyExistsException' });
    await expect(create('http://example.org/')).rejects.toMatchObject({ name: 'ValidationException' });
    await events.send(new DeleteConnectionCommand({ Name: 'hook' }));
    await expect(create('https://example.org/')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });
});
