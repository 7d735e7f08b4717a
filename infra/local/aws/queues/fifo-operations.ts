/**
 * Serves over the JSON protocol what a sender and a consumer ask of FIFO queues of SQS. Lambda's event source reads the
 * queues directly.
 */

import { z } from 'zod';
import type { LocalFifoQueue } from '../services/fifo-queue.ts';
import { defineOperation, type Service } from '../services/service.ts';
import { type LocalQueues, nameInUrl, noSuchQueue } from './local-queues.ts';
import { digestOfBody } from './message-digest.ts';

/** Amazon SQS API Reference, SendMessageBatch: ids of groups and of deduplication. */
const token = z.string().regex(/^[A-Za-z0-9!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]{1,128}$/);

const entry = z.object({
  Id: z.string().min(1).max(80),
  MessageBody: z.string().min(1),
  MessageGroupId: token,
  MessageDeduplicationId: token,
});

const batch = z.object({ QueueUrl: z.string(), Entries: z.array(entry).min(1).max(10) });

/** Amazon SQS API Reference, ChangeMessageVisibility. The receipt handle is the id of the message here. */
const visibility = z.object({
  QueueUrl: z.string(),
  ReceiptHandle: z.string(),
  VisibilityTimeout: z.number().int().min(0).max(43_200),
});

export function createFifoOperations(queues: LocalQueues): Service {
  return new Map([
    [
      'SendMessageBatch',
      defineOperation(batch, ({ QueueUrl, Entries }) => {
        const queue = queueAt(queues, QueueUrl);
        return { Successful: Entries.map((each) => sent(queue, each)), Failed: [] };
      }),
    ],
    [
      'ChangeMessageVisibility',
      defineOperation(visibility, ({ QueueUrl, ReceiptHandle, VisibilityTimeout }) => {
        queueAt(queues, QueueUrl).hide(ReceiptHandle, VisibilityTimeout * 1_000);
        return {};
      }),
    ],
  ]);
}

function queueAt(queues: LocalQueues, url: string): LocalFifoQueue {
  const queue = queues.find(nameInUrl(url));
  if (queue !== undefined) return queue;
  throw noSuchQueue();
}

function sent(
  queue: LocalFifoQueue,
  { Id, MessageBody, MessageGroupId, MessageDeduplicationId }: z.output<typeof entry>,
) {
  const message = { body: MessageBody, groupId: MessageGroupId, deduplicationId: MessageDeduplicationId };
  return { Id, MessageId: queue.send(message), MD5OfMessageBody: digestOfBody(MessageBody) };
}
