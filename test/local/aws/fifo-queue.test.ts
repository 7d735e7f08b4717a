import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSqsHandBack } from '../../../functions/commands/invocation.ts';
import { type LocalAws, startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { createLocalFifoQueue, type LocalFifoQueue } from '../../../infra/local/aws/sqs/event-source.ts';
import { createSqsWakes } from '../../../shared/commands/wakes.ts';
import { aClock } from '../../builders.ts';

interface QueueUnderTest {
  readonly queue: LocalFifoQueue;
  send(body: string, groupId: string, deduplicationId?: string): Promise<void>;
  pass(durationMs: number): void;
}

type Send = (queue: LocalFifoQueue, message: readonly [string, string, string]) => Promise<void>;

type Hide = (queue: LocalFifoQueue, messageId: string) => Promise<void>;

const VISIBILITY_MS = 1_000;

/** A consumer asks for whole seconds. */
const HIDDEN_MS = 5_000;

function aQueue(send: Send): QueueUnderTest {
  let nowMs = 0;
  let ids = 0;
  const settings = { visibilityTimeoutMs: VISIBILITY_MS, receiveCountMax: 2 };
  const ports = { clock: aClock(() => nowMs), newId: () => `m${++ids}` };
  const queue = createLocalFifoQueue(settings, ports);
  return {
    queue,
    send: (body, groupId, deduplicationId = body) => send(queue, [body, groupId, deduplicationId]),
    pass: (durationMs) => {
      nowMs += durationMs;
    },
  };
}

const bodies = ({ queue }: QueueUnderTest, countMax = 10) => queue.receive(countMax).map(({ body }) => body);

/** The suite runs on the queue itself and through the SDK over HTTP. */
function describeFifoQueue(name: string, send: Send, hide: Hide): void {
  describe(`a FIFO queue, ${name}`, () => {
    test('hands out the messages of a group in their order, and none while one of them is hidden', async () => {
      const under = aQueue(send);
      for (const body of ['a1', 'a2', 'a3']) await under.send(body, 'a');

      expect(bodies(under, 2)).toEqual(['a1', 'a2']);
      expect(bodies(under)).toEqual([]);
    });

    test('does not let one group wait for another', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a');
      await under.send('a2', 'a');
      bodies(under, 1);
      await under.send('b1', 'b');

      expect(bodies(under)).toEqual(['b1']);
    });

    test('goes on with a group once its hidden message is deleted', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a');
      await under.send('a2', 'a');
      under.queue.delete(under.queue.receive(1)[0]?.messageId ?? '');

      expect(bodies(under)).toEqual(['a2']);
    });

    test('hands out a message again when it was not deleted in time, before those behind it', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a');
      await under.send('a2', 'a');
      bodies(under, 1);
      under.pass(VISIBILITY_MS);

      expect(bodies(under)).toEqual(['a1', 'a2']);
    });

    test('hides a message for as long as its consumer asks, and with it those behind it', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a');
      await under.send('a2', 'a');
      await hide(under.queue, under.queue.receive(1)[0]?.messageId ?? '');
      under.pass(HIDDEN_MS - 1);
      expect(bodies(under)).toEqual([]);

      under.pass(1);

      expect(bodies(under)).toEqual(['a1', 'a2']);
    });

    test('takes a repetition within five minutes for the same message, even after it was deleted', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a', 'once');
      under.queue.delete(under.queue.receive(1)[0]?.messageId ?? '');
      under.pass(299_999);
      await under.send('a1', 'a', 'once');
      expect(bodies(under)).toEqual([]);

      under.pass(1);
      await under.send('a1', 'a', 'once');

      expect(bodies(under)).toEqual(['a1']);
    });

    test('compares deduplication ids within a group only', async () => {
      const under = aQueue(send);
      await under.send('a1', 'a', 'minute-1');
      await under.send('b1', 'b', 'minute-1');

      expect(bodies(under)).toEqual(['a1', 'b1']);
    });

    test('gives a message up after its receptions, and goes on with its group', async () => {
      const under = aQueue(send);
      await under.send('poison', 'a');
      await under.send('fine', 'a');
      for (let count = 0; count < 2; count++) {
        bodies(under, 1);
        under.pass(VISIBILITY_MS);
      }

      expect(bodies(under)).toEqual(['fine']);
      expect(under.queue.deadLetters.map(({ body }) => body)).toEqual(['poison']);
    });
  });
}

let aws: LocalAws;
let client: SQSClient;

beforeAll(async () => {
  aws = await startLocalAws();
  client = new SQSClient({ endpoint: aws.endpoint, region: 'us-east-1', credentials: aws.credentials });
});

afterAll(async () => {
  client.destroy();
  await aws.close();
});

const urlOf = (name: string) => `${aws.endpoint}/000000000000/${name}`;

describeFifoQueue(
  'called directly',
  async (queue, [body, groupId, deduplicationId]) => {
    queue.send({ body, groupId, deduplicationId });
  },
  async (queue, messageId) => queue.hide(messageId, HIDDEN_MS),
);

describeFifoQueue(
  'over HTTP',
  async (queue, [body, MessageGroupId, MessageDeduplicationId]) => {
    aws.queues.add('under-test.fifo', queue);
    const Entries = [{ Id: '0', MessageBody: body, MessageGroupId, MessageDeduplicationId }];
    await client.send(new SendMessageBatchCommand({ QueueUrl: urlOf('under-test.fifo'), Entries }));
  },
  (_queue, messageId) => createSqsHandBack(client, urlOf('under-test.fifo'))(messageId, HIDDEN_MS),
);

describe('a message that is handed back over SQS', () => {
  test.each<[string, (under: QueueUnderTest, messageId: string) => void]>([
    ['was deleted by another reception', ({ queue }, messageId) => queue.delete(messageId)],
    ['is waiting to be received again', (under) => under.pass(VISIBILITY_MS)],
  ])('and %s needs no pause, and is no failure', async (_what, happens) => {
    const under = aQueue(async (queue, [body, groupId, deduplicationId]) => {
      queue.send({ body, groupId, deduplicationId });
    });
    aws.queues.add('handed-back.fifo', under.queue);
    await under.send('a1', 'a');
    const [message] = under.queue.receive(1);
    happens(under, message?.messageId ?? '');

    await createSqsHandBack(client, urlOf('handed-back.fifo'))(message?.messageId ?? '', HIDDEN_MS);

    expect(bodies(under)).toEqual(under.queue.size === 0 ? [] : ['a1']);
  });

  test('fails when there is no such queue, because its pause would be lost unseen', async () => {
    const handBack = createSqsHandBack(client, urlOf('missing.fifo'));

    await expect(handBack('m1', HIDDEN_MS)).rejects.toThrow('does not exist');
  });
});

describe('wakes over SQS', () => {
  test('reach the queue as one message each, in the group of their project, however many there are', async () => {
    const { queue } = aQueue(async () => {});
    aws.queues.add('wakes.fifo', queue);
    const wakes = Array.from({ length: 23 }, (_, place) => {
      return { account_id: 'main', project_id: `project-${place % 12}`, id: `wake-${place}` };
    });

    await createSqsWakes(client, urlOf('wakes.fifo')).send(wakes);

    expect(queue.size).toBe(23);
    const first = queue.receive(1)[0]?.body ?? '';
    expect(JSON.parse(first)).toEqual({ account_id: 'main', project_id: 'project-0' });
  });

  test('are rejected when the queue does not exist', async () => {
    const wake = { account_id: 'main', project_id: 'project', id: 'wake' };

    await expect(createSqsWakes(client, urlOf('missing.fifo')).send([wake])).rejects.toThrow(
      'does not exist',
    );
  });
});
