import { SendMessageBatchCommand, type SendMessageBatchCommandInput, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, test } from 'vitest';
import { createSqsWakes } from '../../../shared/commands/wakes.ts';

const QUEUE_URL = 'https://sqs.test/wakes.fifo';

const aWake = (place: number) => ({
  account_id: 'main',
  project_id: `project-${place}`,
  id: `wake-${place}`,
});

function createQueue() {
  const sqs = mockClient(new SQSClient({ region: 'eu-central-1' }));
  const batches = () => sqs.commandCalls(SendMessageBatchCommand).map(({ args }) => args[0].input);
  return { sqs, batches, wakes: createSqsWakes(sqs as unknown as SQSClient, QUEUE_URL) };
}

describe('wakes of SQS', () => {
  test('carry the project and nothing else, in the order of the project, once for each id', async () => {
    const { sqs, batches, wakes } = createQueue();
    sqs.on(SendMessageBatchCommand).resolves({});

    await wakes.send([aWake(1)]);

    expect(batches()).toEqual([
      {
        QueueUrl: QUEUE_URL,
        Entries: [
          {
            Id: '0',
            MessageBody: '{"account_id":"main","project_id":"project-1"}',
            MessageGroupId: 'main/project-1',
            MessageDeduplicationId: 'wake-1',
          },
        ],
      },
    ]);
  });

  test('leave ten at a time, as SQS takes them', async () => {
    const { sqs, batches, wakes } = createQueue();
    sqs.on(SendMessageBatchCommand).resolves({});

    await wakes.send(Array.from({ length: 20 }, (_, place) => aWake(place)));

    const idsOf = ({ Entries = [] }: SendMessageBatchCommandInput) =>
      Entries.map(({ MessageDeduplicationId }) => MessageDeduplicationId);
    expect(batches().map(idsOf)).toEqual([
      Array.from({ length: 10 }, (_, place) => `wake-${place}`),
      Array.from({ length: 10 }, (_, place) => `wake-${place + 10}`),
    ]);
  });

  test('of which the queue refuses some, are reported after all were sent', async () => {
    const { sqs, batches, wakes } = createQueue();
    const refused = { Id: '0', SenderFault: false, Code: 'InternalError' };
    sqs
      .on(SendMessageBatchCommand)
      .resolvesOnce({ Failed: [refused] })
      .resolves({});

    await expect(wakes.send(Array.from({ length: 11 }, (_, place) => aWake(place)))).rejects.toMatchObject({
      code: 'wake_refused',
      message: 'The queue refused 1 of 11 wakes',
    });
    expect(batches()).toHaveLength(2);
  });
});
