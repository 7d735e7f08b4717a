import {
  DeleteRuleCommand,
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
    ['a function', { Id: '1', Arn: 'arn:aws:lambda:us-east-1:000000000000:function:f' }, /SQS queues only/],
    ['a FIFO queue', { Id: '1', Arn: `${QUEUE_ARN}a.fifo` }, /FIFO/],
  ])('refuses %s as a target, and says why', async (_what, target, reason) => {
    const { createRule, events } = await openSubscriptions();
    await createRule(queueTarget('fine'));

    await expect(events.send(new PutTargetsCommand({ ...RULE, Targets: [target] }))).rejects.toMatchObject({
      name: 'ValidationException',
      message: expect.stringMatching(reason),
    });
  });

  test('refuses what would give a target something else than the event', async () => {
    const { createRule, events } = await openSubscriptions();
    await createRule(queueTarget('fine'));
    const Targets = [{ ...queueTarget('1'), InputPath: '$.detail' }];

    await expect(events.send(new PutTargetsCommand({ ...RULE, Targets }))).rejects.toThrow(/InputPath/);
  });
});
