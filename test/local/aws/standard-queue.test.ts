import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  type QueueAttributeName,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { STANDARD_QUEUES_MAX } from '../../../infra/local/aws/sqs/local-queues.ts';
import { QUEUE_MESSAGES_MAX } from '../../../infra/local/aws/sqs/standard-queue.ts';
import { openSubscriptions, QUEUE_ARN } from './subscriptions-under-test.ts';

/** Waits end at once, and each of them lets its time pass. */
function aClock() {
  let nowMs = Date.UTC(2026, 0, 1);
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  const clock = {
    now: () => nowMs,
    sleep: async (durationMs: number) => {
      pass(durationMs);
      await new Promise(setImmediate);
    },
  };
  return { clock, pass };
}

async function aQueue(attributes: Record<string, string> = {}) {
  const { clock, pass } = aClock();
  const opened = await openSubscriptions({ clock });
  const { sqs, createQueue } = opened;
  const QueueUrl = await createQueue('queue', attributes);
  const send = (MessageBody: string, fields: object = {}) =>
    sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, ...fields }));
  const receive = async (fields: object = {}) =>
    (await sqs.send(new ReceiveMessageCommand({ QueueUrl, ...fields }))).Messages ?? [];
  return { ...opened, QueueUrl, pass, send, receive };
}

describe('a standard queue over SQS', () => {
  test('hides a received message for its visibility time-out, and forgets it when it is deleted', async () => {
    const { send, receive, pass, sqs, QueueUrl } = await aQueue();
    await send('one');
    const [first] = await receive();
    expect([first?.Body, await receive()]).toEqual(['one', []]);

    pass(30_000);
    const [second] = await receive({ MessageSystemAttributeNames: ['ApproximateReceiveCount'] });
    expect(second?.Attributes).toEqual({ ApproximateReceiveCount: '2' });
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: second?.ReceiptHandle }));
    pass(30_000);

    expect(await receive()).toEqual([]);
  });

  test('shows a message again when its time-out is changed to zero', async () => {
    const { send, receive, sqs, QueueUrl } = await aQueue();
    await send('one');
    const [{ ReceiptHandle } = {}] = await receive();
    await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));

    expect((await receive()).map(({ Body }) => Body)).toEqual(['one']);
  });

  test('delays a message, and forgets it after its retention period', async () => {
    const { send, receive, pass } = await aQueue({ MessageRetentionPeriod: '60' });
    await send('late', { DelaySeconds: 10 });
    expect(await receive()).toEqual([]);
    pass(10_000);
    expect(await receive({ VisibilityTimeout: 0 })).toHaveLength(1);
    pass(50_000);

    expect(await receive()).toEqual([]);
  });

  test('lets a consumer wait for a message, and answers with none when the time is over', async () => {
    const { send, receive } = await aQueue();
    await send('late', { DelaySeconds: 5 });

    expect(await receive({ WaitTimeSeconds: 4 })).toEqual([]);
    expect(await receive({ WaitTimeSeconds: 4 })).toHaveLength(1);
  });

  test('moves a message that was received too often to the queue of its redrive policy', async () => {
    const { createQueue, send, receive, sqs } = await aQueue({
      VisibilityTimeout: '0',
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: `${QUEUE_ARN}dead`, maxReceiveCount: 2 }),
    });
    const QueueUrl = await createQueue('dead');
    await send('poison');
    for (let count = 0; count < 2; count++) expect(await receive()).toHaveLength(1);

    expect(await receive()).toEqual([]);
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    expect(Messages.map(({ Body }) => Body)).toEqual(['poison']);
  });

  test('counts its messages in its attributes', async () => {
    const { send, receive, sqs, QueueUrl } = await aQueue();
    await send('one');
    await send('two');
    await send('late', { DelaySeconds: 60 });
    await receive();
    const AttributeNames: QueueAttributeName[] = ['All'];
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));

    expect(Attributes).toMatchObject({
      QueueArn: `${QUEUE_ARN}queue`,
      ApproximateNumberOfMessages: '1',
      ApproximateNumberOfMessagesNotVisible: '1',
      ApproximateNumberOfMessagesDelayed: '1',
      VisibilityTimeout: '30',
      MaximumMessageSize: '1048576',
    });
  });

  test('refuses what is larger than its bound: a message, a batch, and one message more than it keeps', async () => {
    const { send, sqs, aws, QueueUrl } = await aQueue({ MaximumMessageSize: '1024' });
    await expect(send('x'.repeat(1_025))).rejects.toMatchObject({ name: 'InvalidParameterValue' });
    const Entries = Array.from({ length: 11 }, (_, place) => ({ Id: `${place}`, MessageBody: 'x' }));
    await expect(sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }))).rejects.toMatchObject({
      name: 'TooManyEntriesInBatchRequest',
    });
    const queue = aws.queues.standard.find('queue');
    for (let count = 0; count < QUEUE_MESSAGES_MAX; count++) queue?.send({ body: 'x' });

    await expect(send('one more')).rejects.toMatchObject({
      name: 'OverLimit',
      message: expect.stringContaining('The queue queue is full'),
    });
  });

  test('answers for each entry of a batch separately', async () => {
    const { sqs, QueueUrl } = await aQueue({ MaximumMessageSize: '1024' });
    const Entries = [
      { Id: 'small', MessageBody: 'x' },
      { Id: 'large', MessageBody: 'x'.repeat(1_025) },
    ];
    const { Successful, Failed } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));

    expect(Successful?.map(({ Id }) => Id)).toEqual(['small']);
    expect(Failed).toMatchObject([{ Id: 'large', SenderFault: true, Code: 'InvalidParameterValue' }]);
  });
});

describe('the queues of SQS', () => {
  test('are found by their name, listed by the alphabet, purged and deleted', async () => {
    const { sqs, createQueue, send, receive, QueueUrl } = await aQueue();
    const other = await createQueue('another');
    expect((await sqs.send(new GetQueueUrlCommand({ QueueName: 'queue' }))).QueueUrl).toBe(QueueUrl);
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toEqual([other, QueueUrl]);
    await send('one');
    await sqs.send(new PurgeQueueCommand({ QueueUrl }));
    expect(await receive()).toEqual([]);
    await sqs.send(new DeleteQueueCommand({ QueueUrl }));

    await expect(send('one')).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
  });

  test('can be created twice with the same attributes, and not with others', async () => {
    const { sqs, createQueue, QueueUrl } = await aQueue();
    expect(await createQueue('queue')).toBe(QueueUrl);
    const Attributes = { VisibilityTimeout: '31' };

    await expect(sqs.send(new CreateQueueCommand({ QueueName: 'queue', Attributes }))).rejects.toMatchObject({
      name: 'QueueNameExists',
    });
  });

  test.each([
    ['an unknown attribute', { Colour: 'red' }, 'InvalidAttributeName'],
    ['a time-out of more than twelve hours', { VisibilityTimeout: '43201' }, 'InvalidAttributeValue'],
    ['a policy that is not JSON', { Policy: '{' }, 'InvalidAttributeValue'],
    [
      'a redrive policy without a count',
      { RedrivePolicy: '{"deadLetterTargetArn":"x"}' },
      'InvalidAttributeValue',
    ],
  ])('refuse %s', async (_what, Attributes: object, name) => {
    const { sqs, QueueUrl } = await aQueue();

    await expect(sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }))).rejects.toMatchObject({
      name,
    });
  });

  test('are a bounded number, and FIFO queues cannot be created', async () => {
    const { sqs, createQueue } = await aQueue();
    for (let count = 1; count < STANDARD_QUEUES_MAX; count++) await createQueue(`queue-${count}`);

    await expect(createQueue('one-more')).rejects.toMatchObject({ name: 'OverLimit' });
    await expect(sqs.send(new CreateQueueCommand({ QueueName: 'a.fifo' }))).rejects.toMatchObject({
      name: 'UnsupportedOperation',
    });
  });
});
