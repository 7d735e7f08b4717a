import { type Message, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { openSubscriptions, policyFor, QUEUE_ARN } from './subscriptions-under-test.ts';

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
});
