/**
 * Behaves as a standard queue of SQS towards its consumers: messages are hidden while they are processed, appear again,
 * age, and go to a dead-letter queue (Amazon SQS Developer Guide, "Standard queues").
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { ServiceError } from '../services/service.ts';
import { changedAttributes, numberOf, type QueueAttributes, redrivePolicyOf } from './queue-attributes.ts';

/** An attribute of a message as the JSON protocol writes it. Binary values are in Base64. */
export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string | undefined;
  readonly BinaryValue?: string | undefined;
}

export interface SentMessage {
  readonly body: string;
  readonly attributes?: Readonly<Record<string, MessageAttribute>> | undefined;
  /** The default is that of the queue. */
  readonly delaySeconds?: number | undefined;
}

export interface ReceivedMessage {
  readonly messageId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  /** Deletes or hides the message until it is received again. */
  readonly receiptHandle: string;
  readonly receiveCount: number;
  readonly sentMs: number;
  readonly firstReceivedMs: number;
}

export interface StandardQueue {
  readonly name: string;
  readonly createdMs: number;
  attributes(): QueueAttributes;
  /** Throws a `ServiceError` when SQS would refuse one of them. */
  configure(changes: QueueAttributes): void;
  /** Returns the id of the message. Throws a `ServiceError` when the queue is full or the message too long. */
  send(message: SentMessage): string;
  /** The default of `visibilitySeconds` is that of the queue. */
  receive(countMax: number, visibilitySeconds?: number): readonly ReceivedMessage[];
  /** An outdated handle deletes nothing, and that is no error. */
  delete(receiptHandle: string): void;
  hide(receiptHandle: string, seconds: number): void;
  purge(): void;
  counts(): QueueCounts;
}

interface QueueCounts {
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
}

/**
 * SQS itself keeps any number of messages. This queue is in the memory of one process, and a consumer that is tried on a
 * laptop is far behind long before.
 */
export const QUEUE_MESSAGES_MAX = 10_000;
const QUEUE_BYTES_MAX = 64 * 1_048_576;

export interface StandardQueuePorts {
  readonly clock: Pick<Clock, 'now'>;
  readonly newId: () => string;
  /** Returns false when that queue does not exist or is full. The message then stays where it is, as on AWS. */
  readonly moveToDeadLetters: (queueArn: string, message: SentMessage) => boolean;
}

interface Stored extends SentMessage {
  readonly messageId: string;
  readonly sizeBytes: number;
  readonly sentMs: number;
  firstReceivedMs: number | undefined;
  receiveCount: number;
  visibleAtMs: number;
}

export function createStandardQueue(
  name: string,
  initial: QueueAttributes,
  { clock, newId, moveToDeadLetters }: StandardQueuePorts,
): StandardQueue {
  let attributes = changedAttributes({}, initial);
  const messages = new Map<string, Stored>();
  let keptBytes = 0;

  const remove = ({ messageId, sizeBytes }: Stored) => {
    if (messages.delete(messageId)) keptBytes -= sizeBytes;
  };

  const forgetOld = () => {
    const oldestMs = clock.now() - numberOf(attributes, 'MessageRetentionPeriod') * 1_000;
    for (const stored of messages.values()) {
      if (stored.sentMs > oldestMs) return;
      remove(stored);
    }
  };

  /** A message that was received often enough goes to the dead letters when it is received once more. */
  const isGivenUp = (stored: Stored): boolean => {
    const redrive = redrivePolicyOf(attributes);
    if (redrive === undefined || stored.receiveCount < redrive.maxReceiveCount) return false;
    const { body, attributes: kept } = stored;
    if (!moveToDeadLetters(redrive.deadLetterTargetArn, { body, attributes: kept })) return false;
    remove(stored);
    return true;
  };

  /** The handle of an earlier reception refers to nothing. */
  const find = (receiptHandle: string): Stored | undefined => {
    const [, messageId = '', count] = /^(.+):(\d+)$/.exec(receiptHandle) ?? [];
    if (count === undefined)
      throw new ServiceError(
        'ReceiptHandleIsInvalid',
        `The input receipt handle "${receiptHandle}" is not valid.`,
      );
    const stored = messages.get(messageId);
    return stored?.receiveCount === Number(count) ? stored : undefined;
  };

  return {
    name,
    createdMs: clock.now(),
    attributes: () => attributes,
    configure(changes) {
      attributes = changedAttributes(attributes, changes);
    },
    send(message) {
      forgetOld();
      const sizeBytes = sizeBytesOf(message);
      checkSize(sizeBytes, numberOf(attributes, 'MaximumMessageSize'));
      checkRoom(messages.size + 1, keptBytes + sizeBytes, name);
      const nowMs = clock.now();
      const delayMs = (message.delaySeconds ?? numberOf(attributes, 'DelaySeconds')) * 1_000;
      const messageId = newId();
      const state = { firstReceivedMs: undefined, receiveCount: 0, visibleAtMs: nowMs + delayMs };
      keptBytes += sizeBytes;
      messages.set(messageId, { ...message, messageId, sizeBytes, sentMs: nowMs, ...state });
      return messageId;
    },
    receive(countMax, visibilitySeconds = numberOf(attributes, 'VisibilityTimeout')) {
      forgetOld();
      const nowMs = clock.now();
      const received: ReceivedMessage[] = [];
      for (const stored of messages.values()) {
        if (received.length === countMax) break;
        if (stored.visibleAtMs > nowMs || isGivenUp(stored)) continue;
        stored.receiveCount += 1;
        stored.firstReceivedMs ??= nowMs;
        stored.visibleAtMs = nowMs + visibilitySeconds * 1_000;
        received.push(receivedOf(stored));
      }
      return received;
    },
    delete(receiptHandle) {
      const stored = find(receiptHandle);
      if (stored !== undefined) remove(stored);
    },
    hide(receiptHandle, visibilitySeconds) {
      const stored = find(receiptHandle);
      if (stored === undefined)
        throw new ServiceError('MessageNotInflight', 'The message referred to is not in flight.');
      stored.visibleAtMs = clock.now() + visibilitySeconds * 1_000;
    },
    purge: () => messages.forEach(remove),
    counts() {
      forgetOld();
      return countsOf([...messages.values()], clock.now());
    },
  };
}

function receivedOf(stored: Stored): ReceivedMessage {
  const { messageId, body, attributes = {}, receiveCount, sentMs, firstReceivedMs = sentMs } = stored;
  const receiptHandle = `${messageId}:${receiveCount}`;
  return { messageId, body, attributes, receiptHandle, receiveCount, sentMs, firstReceivedMs };
}

/** A message is delayed until it is visible for the first time, and hidden after each reception. */
function countsOf(messages: readonly Stored[], nowMs: number): QueueCounts {
  const invisible = messages.filter(({ visibleAtMs }) => visibleAtMs > nowMs);
  const delayed = invisible.filter(({ receiveCount }) => receiveCount === 0).length;
  return { visible: messages.length - invisible.length, hidden: invisible.length - delayed, delayed };
}

/** Names, types and values of attributes count, too. */
function sizeBytesOf({ body, attributes = {} }: SentMessage): number {
  return Object.entries(attributes).reduce(
    (sum, [name, { DataType, StringValue = '', BinaryValue = '' }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + Buffer.byteLength(BinaryValue, 'base64'),
    Buffer.byteLength(body),
  );
}

function checkSize(sizeBytes: number, sizeBytesMax: number): void {
  if (sizeBytes <= sizeBytesMax) return;
  const reason = `Message must be shorter than ${sizeBytesMax} bytes.`;
  throw new ServiceError(
    'InvalidParameterValueException',
    `One or more parameters are invalid. Reason: ${reason}`,
  );
}

function checkRoom(count: number, bytes: number, name: string): void {
  if (count <= QUEUE_MESSAGES_MAX && bytes <= QUEUE_BYTES_MAX) return;
  const bound = `${QUEUE_MESSAGES_MAX} messages and ${QUEUE_BYTES_MAX / 1_048_576} MiB`;
  throw new ServiceError(
    'OverLimit',
    `The queue ${name} is full: the local AWS keeps at most ${bound}. Receive and delete messages, or purge the queue.`,
  );
}
