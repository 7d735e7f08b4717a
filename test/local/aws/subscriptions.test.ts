import { PutEventsCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { type Message, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { anEntry } from './aws-under-test.ts';
import {
  openReceiver,
  openSilentReceiver,
  openSubscriptions,
  policyFor,
  QUEUE_ARN,
} from './subscriptions-under-test.ts';

const ROLE = 'arn:aws:iam::000000000000:role/any';

const attributesOf = (message: Message | undefined) =>
  Object.fromEntries(
    Object.entries(message?.MessageAttributes ?? {}).map(([name, { StringValue }]) => [name, StringValue]),
  );

describe('a queue that is the target of a rule', () => {
  test('gets the envelope of each event that the pattern matches, and no other', async () => {
    const { createQueue, createRule, publish, receive } = await openSubscriptions();
    const url = await createQueue('failures');
    await createRule({ Id: 'queue', Arn: `${QUEUE_ARN}failures` });
    await publish();
    await publish({ Detail: '{"status":"finished"}' });

    const bodies = (await receive(url)).map(({ Body = '' }) => JSON.parse(Body));
    expect(bodies).toMatchObject([{ source: 'test', 'detail-type': 'Test', detail: { status: 'failed' } }]);
  });

  test('gets nothing without a policy that lets the rule send; the event goes to the dead letters at once', async () => {
    const { createQueue, createRule, publish, receive } = await openSubscriptions();
    const other = 'arn:aws:events:us-east-1:000000000000:rule/bus/other';
    const url = await createQueue('failures', { Policy: policyFor(`${QUEUE_ARN}failures`, other) });
    const deadLetters = await createQueue('dead-letters');
    const DeadLetterConfig = { Arn: `${QUEUE_ARN}dead-letters` };
    await createRule({ Id: 'queue', Arn: `${QUEUE_ARN}failures`, DeadLetterConfig });
    await publish();

    expect(await receive(url)).toEqual([]);
    const [dead] = await receive(deadLetters);
    expect(JSON.parse(dead?.Body ?? '')).toMatchObject({ detail: { status: 'failed' } });
    expect(attributesOf(dead)).toMatchObject({
      RULE_ARN: 'arn:aws:events:us-east-1:000000000000:rule/bus/rule',
      TARGET_ARN: `${QUEUE_ARN}failures`,
      ERROR_CODE: 'NO_PERMISSIONS',
      RETRY_ATTEMPTS: '0',
    });
  });

  test('that has no dead letters and no policy, or does not exist, makes a report for each lost event', async () => {
    const dropped: string[] = [];
    const onDropped = (_event: object, rule: string, reason: string) =>
      void dropped.push(`${rule}: ${reason}`);
    const { createQueue, createRule, publish, sqs } = await openSubscriptions({ onDropped });
    const QueueUrl = await createQueue('failures');
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy: '' } }));
    await createRule({ Id: 'queue', Arn: `${QUEUE_ARN}failures` }, { Id: 'gone', Arn: `${QUEUE_ARN}gone` });
    await publish();

    expect(dropped).toEqual([
      expect.stringMatching(/^rule: The policy of the queue .*failures does not allow sqs:SendMessage/),
      `rule: The target ${QUEUE_ARN}gone does not exist.`,
    ]);
  });

  test('gets what its input path, constant or template makes of the event', async () => {
    const { createQueue, createRule, publish, receive } = await openSubscriptions();
    const url = await createQueue('failures');
    const Arn = `${QUEUE_ARN}failures`;
    const InputPathsMap = { status: '$.detail.status', first: '$.resources[0]', none: '$.detail.none' };
    const InputTemplate =
      '{"text":"<status> in <first>","detail":<status>,"none":<none>,"rule":"<aws.events.rule-name>"}';
    await createRule(
      { Id: 'path', Arn, InputPath: '$.detail.status' },
      { Id: 'constant', Arn, Input: '{"constant":1}' },
      { Id: 'template', Arn, InputTransformer: { InputPathsMap, InputTemplate } },
    );
    await publish({ Resources: ['a "quoted" name'] });

    const bodies = (await receive(url)).map(({ Body = '' }) => JSON.parse(Body));
    expect(bodies).toEqual([
      'failed',
      { constant: 1 },
      { text: 'failed in a "quoted" name', detail: 'failed', none: null, rule: 'rule' },
    ]);
  });
});

describe('an HTTP address that is the target of a rule', () => {
  test('gets the event with the authorization of its connection and the parameters of the target', async () => {
    const { requests, origin } = await openReceiver(200);
    const { createDestination, createRule, publish } = await openSubscriptions();
    const Arn = await createDestination(`${origin}/hooks/*`);
    const HttpParameters = {
      PathParameterValues: ['team a'],
      HeaderParameters: { 'X-Own': 'yes' },
      QueryStringParameters: { from: 'bridge' },
    };
    await createRule({ Id: 'http', Arn, RoleArn: ROLE, HttpParameters });
    await publish();

    expect(requests).toMatchObject([
      {
        method: 'POST',
        path: '/hooks/team%20a?from=bridge',
        headers: {
          'x-key': 'secret',
          'x-own': 'yes',
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'Amazon/EventBridge/ApiDestinations',
        },
      },
    ]);
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ detail: { status: 'failed' } });
  });

  test('is called again after an error that can pass', async () => {
    const { requests, origin } = await openReceiver(503, 429, 200);
    const { createDestination, createRule, publish } = await openSubscriptions();
    await createRule({ Id: 'http', Arn: await createDestination(origin), RoleArn: ROLE });
    await publish();

    expect(requests).toHaveLength(3);
  });

  test.each([
    ['as often as the bound allows', {}, 5, 'MaximumRetryAttempts'],
    [
      'as often as its retry policy allows',
      { RetryPolicy: { MaximumRetryAttempts: 1 } },
      2,
      'MaximumRetryAttempts',
    ],
  ])('is called %s, and then the event goes to the dead letters', async (_how, target, calls, condition) => {
    const { requests, origin } = await openReceiver(500);
    const { createDestination, createQueue, createRule, publish, receive } = await openSubscriptions();
    const url = await createQueue('dead-letters');
    const Arn = await createDestination(origin);
    const DeadLetterConfig = { Arn: `${QUEUE_ARN}dead-letters` };
    await createRule({ Id: 'http', Arn, RoleArn: ROLE, DeadLetterConfig, ...target });
    await publish();

    expect(requests).toHaveLength(calls);
    const [dead] = await receive(url);
    expect(attributesOf(dead)).toMatchObject({
      ERROR_CODE: 'ERROR_FROM_TARGET',
      ERROR_MESSAGE: 'The HTTP address answered with 500.',
      EXHAUSTED_RETRY_CONDITION: condition,
      RETRY_ATTEMPTS: String(calls - 1),
    });
  });

  test.each([
    ['a refusal', [400]],
    ['a redirection', [302]],
  ])('is called once when it answers with %s', async (_what, statuses) => {
    const { requests, origin } = await openReceiver(...statuses);
    const { createDestination, createRule, publish } = await openSubscriptions();
    await createRule({ Id: 'http', Arn: await createDestination(origin), RoleArn: ROLE });
    await publish();

    expect(requests).toHaveLength(1);
  });

  test('that never answers does not hold up the end of the run', async () => {
    const { arrived, origin } = await openSilentReceiver();
    const { createDestination, createRule, aws, events } = await openSubscriptions();
    await createRule({ Id: 'http', Arn: await createDestination(origin), RoleArn: ROLE });
    await events.send(new PutEventsCommand({ Entries: [anEntry()] }));
    await arrived;
    aws.endSubscriptions();

    await expect(aws.bus.idle()).resolves.toBeUndefined();
  });

  test('is refused as a target without a role, as on AWS', async () => {
    const { createDestination, createRule, events } = await openSubscriptions();
    const Arn = await createDestination('http://127.0.0.1:1/');
    await createRule({ Id: 'queue', Arn: `${QUEUE_ARN}failures` });
    const Targets = [{ Id: 'http', Arn }];

    await expect(
      events.send(new PutTargetsCommand({ Rule: 'rule', EventBusName: 'bus', Targets })),
    ).rejects.toMatchObject({
      name: 'ValidationException',
      message: `RoleArn is required for target ${Arn}.`,
    });
  });
});
