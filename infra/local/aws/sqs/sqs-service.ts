/**
 * Serves SQS over the JSON protocol: a FIFO queue of the bridge takes what its sender and its consumer ask, because
 * Lambda's event source reads it here, and a standard queue can be created, found, listed, configured and deleted.
 */

import { z } from 'zod';
import {
  ACCOUNT_ID,
  defineOperation,
  type Operation,
  queueArn,
  type Service,
  ServiceError,
} from '../protocol.ts';
import type { LocalFifoQueue } from './event-source.ts';
import { type LocalQueues, nameInUrl, noSuchQueue, type StandardQueues } from './local-queues.ts';
import { createMessageOperations, digestOfBody, type MessagePorts } from './message-operations.ts';
import { allAttributes, type QueueAttributes, type StandardQueue } from './standard-queue.ts';

/** The origin is the address of the local AWS. */
export function createSqsService(queues: LocalQueues, origin: () => string, ports: MessagePorts): Service {
  const standard = new Map([
    ...createQueueOperations(queues.standard, origin),
    ...createMessageOperations(queues.standard, ports),
  ]);
  const ofFifo = [...createFifoOperations(queues)].map(
    ([name, fifo]) => [name, byKind(fifo, standard.get(name) ?? fifo)] as const,
  );
  return new Map([...standard, ...ofFifo]);
}

function byKind(fifo: Operation, standard: Operation): Operation {
  return (body) => {
    const { QueueUrl } = (body ?? {}) as { readonly QueueUrl?: unknown };
    const isFifo = typeof QueueUrl === 'string' && nameInUrl(QueueUrl).endsWith('.fifo');
    return isFifo ? fifo(body) : standard(body);
  };
}

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

function createFifoOperations(queues: LocalQueues): Service {
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

const attributes = z.record(z.string(), z.string());
const named = z.object({ QueueName: z.string() });
const addressed = z.object({ QueueUrl: z.string() });
const created = z.object({
  QueueName: z.string(),
  Attributes: attributes.default({}),
  tags: attributes.default({}),
});
const listed = z.object({
  QueueNamePrefix: z.string().default(''),
  MaxResults: z.number().int().min(1).max(1_000).default(1_000),
  NextToken: z.string().default(''),
});
const asked = z.object({ QueueUrl: z.string(), AttributeNames: z.array(z.string()).default([]) });
const configured = z.object({ QueueUrl: z.string(), Attributes: attributes });

/** The origin is the address of the local AWS, with which the address of a queue begins. */
function createQueueOperations(queues: StandardQueues, origin: () => string): Service {
  const urlOf = (name: string) => `${origin()}/${ACCOUNT_ID}/${name}`;
  const tags = new Map<string, Readonly<Record<string, string>>>();
  return new Map([
    [
      'CreateQueue',
      defineOperation(created, ({ QueueName, Attributes, tags: given }) => {
        const { name } = queues.create(QueueName, Attributes);
        tags.set(name, { ...given });
        return { QueueUrl: urlOf(name) };
      }),
    ],
    [
      'GetQueueUrl',
      defineOperation(named, ({ QueueName }) => {
        if (queues.find(QueueName) === undefined) throw noSuchQueue();
        return { QueueUrl: urlOf(QueueName) };
      }),
    ],
    ['ListQueues', defineOperation(listed, (input) => queuePage(queues.names(), input, urlOf))],
    [
      'DeleteQueue',
      defineOperation(addressed, ({ QueueUrl }) => {
        queues.remove(queues.at(QueueUrl).name);
        tags.delete(nameInUrl(QueueUrl));
        return {};
      }),
    ],
    [
      'ListQueueTags',
      defineOperation(addressed, ({ QueueUrl }) => ({ Tags: tags.get(queues.at(QueueUrl).name) ?? {} })),
    ],
    ...operationsOnOneQueue(queues),
  ]);
}

function operationsOnOneQueue(queues: StandardQueues): Service {
  return new Map([
    [
      'PurgeQueue',
      defineOperation(addressed, ({ QueueUrl }) => {
        queues.at(QueueUrl).purge();
        return {};
      }),
    ],
    [
      'GetQueueAttributes',
      defineOperation(asked, ({ QueueUrl, AttributeNames }) => ({
        Attributes: chosenAttributes(describedAttributes(queues.at(QueueUrl)), AttributeNames),
      })),
    ],
    [
      'SetQueueAttributes',
      defineOperation(configured, ({ QueueUrl, Attributes }) => {
        queues.at(QueueUrl).configure(Attributes);
        return {};
      }),
    ],
  ]);
}

/** The token is the last name of the page before. */
function queuePage(
  names: readonly string[],
  { QueueNamePrefix, MaxResults, NextToken }: z.output<typeof listed>,
  urlOf: (name: string) => string,
): object {
  const rest = names.filter((name) => name.startsWith(QueueNamePrefix) && name > NextToken);
  const page = rest.slice(0, MaxResults);
  return {
    QueueUrls: page.map(urlOf),
    ...(rest.length > page.length && { NextToken: page.at(-1) }),
  };
}

function describedAttributes(queue: StandardQueue): QueueAttributes {
  const { visible, hidden, delayed } = queue.counts();
  const createdSeconds = String(Math.floor(queue.createdMs / 1_000));
  return {
    ...allAttributes(queue.attributes()),
    QueueArn: queueArn(queue.name),
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(hidden),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    CreatedTimestamp: createdSeconds,
    LastModifiedTimestamp: createdSeconds,
  };
}

/** Without names SQS answers with no attribute. */
function chosenAttributes(all: QueueAttributes, names: readonly string[]): QueueAttributes {
  if (names.includes('All')) return all;
  const unknown = names.find((name) => !KNOWN_NAMES.has(name) && all[name] === undefined);
  if (unknown !== undefined) throw new ServiceError('InvalidAttributeName', `Unknown Attribute ${unknown}.`);
  return Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
}

/** A standard queue has no value for these, or only when one was set. */
const KNOWN_NAMES: ReadonlySet<string> = new Set([
  'Policy',
  'RedrivePolicy',
  'RedriveAllowPolicy',
  'KmsMasterKeyId',
  'KmsDataKeyReusePeriodSeconds',
  'FifoQueue',
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'FifoThroughputLimit',
]);
