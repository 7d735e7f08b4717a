/** Keeps the queues of the local AWS: the FIFO queues of the bridge itself, and the standard queues of its users. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { queueArn, ServiceError } from '../protocol.ts';
import type { LocalFifoQueue } from './event-source.ts';
import {
  allAttributes,
  createStandardQueue,
  type QueueAttributes,
  type SentMessage,
  type StandardQueue,
} from './standard-queue.ts';

export interface LocalQueues {
  /** The name ends with `.fifo`, as AWS demands. */
  add(name: string, queue: LocalFifoQueue): void;
  find(name: string): LocalFifoQueue | undefined;
  readonly standard: StandardQueues;
}

export interface StandardQueues {
  /** Returns the queue that exists with these attributes, too. Throws a `ServiceError` otherwise. */
  create(name: string, attributes: QueueAttributes): StandardQueue;
  find(name: string): StandardQueue | undefined;
  /** Throws a `ServiceError` when there is no such queue. */
  at(queueUrl: string): StandardQueue;
  /** Returns undefined for the ARN of any other thing. */
  byArn(arn: string): StandardQueue | undefined;
  remove(name: string): void;
  /** The names are in the order of the alphabet. */
  names(): readonly string[];
}

/** A subscription needs two. A script that creates queues in a loop meets this bound before the memory ends. */
export const STANDARD_QUEUES_MAX = 100;

const NAME_PATTERN = /^[A-Za-z0-9_-]{1,80}$/;

interface QueuePorts {
  readonly clock: Clock;
  readonly newId: () => string;
}

export function createLocalQueues(ports: QueuePorts): LocalQueues {
  const fifo = new Map<string, LocalFifoQueue>();
  return {
    add(name, queue) {
      if (!name.endsWith('.fifo'))
        throw new Error(`${name} is the name of a FIFO queue and must end with .fifo`);
      fifo.set(name, queue);
    },
    find: (name) => fifo.get(name),
    standard: createStandardQueues(ports),
  };
}

function createStandardQueues(ports: QueuePorts): StandardQueues {
  const queues = new Map<string, StandardQueue>();
  const byArn = (arn: string) => {
    const name = arn.split(':').at(-1) ?? '';
    return queueArn(name) === arn ? queues.get(name) : undefined;
  };
  const moveToDeadLetters = (arn: string, message: SentMessage) => sent(byArn(arn), message);

  return {
    create(name, attributes) {
      const known = queues.get(name);
      if (known !== undefined) return sameQueue(known, attributes);
      checkName(name, queues.size);
      const queue = createStandardQueue(name, attributes, { ...ports, moveToDeadLetters });
      queues.set(name, queue);
      return queue;
    },
    find: (name) => queues.get(name),
    at(queueUrl) {
      const queue = queues.get(nameInUrl(queueUrl));
      if (queue === undefined) throw noSuchQueue();
      return queue;
    },
    byArn,
    remove: (name) => void queues.delete(name),
    names: () => [...queues.keys()].toSorted(),
  };
}

/** Clients send the address that CreateQueue answered, or the mere name. */
export function nameInUrl(queueUrl: string): string {
  return queueUrl.split('/').at(-1) ?? '';
}

export function noSuchQueue(): ServiceError {
  const code = 'AWS.SimpleQueueService.NonExistentQueue';
  return new ServiceError('QueueDoesNotExist', 'The specified queue does not exist.', code);
}

/** A queue is created twice without an error when its attributes are the same (API Reference, CreateQueue). */
function sameQueue(queue: StandardQueue, attributes: QueueAttributes): StandardQueue {
  const present = allAttributes(queue.attributes());
  const different = Object.keys(attributes).find((name) => attributes[name] !== present[name]);
  if (different === undefined) return queue;
  throw new ServiceError(
    'QueueNameExists',
    `A queue already exists with the same name and a different value for attribute ${different}`,
    'QueueAlreadyExists',
  );
}

function checkName(name: string, count: number): void {
  if (name.endsWith('.fifo'))
    throw new ServiceError('UnsupportedOperation', 'The local AWS creates standard queues only.');
  if (!NAME_PATTERN.test(name)) {
    const reason = 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length';
    throw new ServiceError('InvalidParameterValueException', reason, 'InvalidParameterValue');
  }
  if (count >= STANDARD_QUEUES_MAX)
    throw new ServiceError(
      'OverLimit',
      `The local AWS keeps at most ${STANDARD_QUEUES_MAX} queues. Delete one.`,
    );
}

function sent(queue: StandardQueue | undefined, message: SentMessage): boolean {
  if (queue === undefined) return false;
  try {
    queue.send(message);
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
