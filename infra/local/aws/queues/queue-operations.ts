/** Serves the operations of SQS on standard queues themselves: create, find, list, configure and delete. */

import { z } from 'zod';
import { ACCOUNT_ID, queueArn } from '../services/arns.ts';
import { defineOperation, type Service, ServiceError } from '../services/service.ts';
import { nameInUrl, noSuchQueue, type StandardQueues } from './local-queues.ts';
import { allAttributes, type QueueAttributes } from './queue-attributes.ts';
import type { StandardQueue } from './standard-queue.ts';

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
export function createQueueOperations(queues: StandardQueues, origin: () => string): Service {
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
