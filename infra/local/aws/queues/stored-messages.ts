/** Keeps the messages of one queue in the order of their arrival, within the bounds of the local AWS. */

import { ServiceError } from '../services/service.ts';

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

export interface StoredMessage extends SentMessage {
  readonly messageId: string;
  readonly sentMs: number;
  firstReceivedMs: number | undefined;
  receiveCount: number;
  visibleAtMs: number;
}

export interface QueueCounts {
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
}

export interface StoredMessages {
  /** Throws a `ServiceError` when there is no room. */
  add(message: StoredMessage): void;
  remove(message: StoredMessage): void;
  /** Throws a `ServiceError` for what is no handle. The handle of an earlier reception finds nothing. */
  find(receiptHandle: string): StoredMessage | undefined;
  forgetSentBefore(timeMs: number): void;
  all(): Iterable<StoredMessage>;
  countsAt(nowMs: number): QueueCounts;
}

/**
 * SQS itself keeps any number of messages. This queue is in the memory of one process, and a consumer that is tried on a
 * laptop is far behind long before.
 */
export const QUEUE_MESSAGES_MAX = 10_000;
const QUEUE_BYTES_MAX = 64 * 1_048_576;

export function createStoredMessages(queueName: string): StoredMessages {
  const messages = new Map<string, StoredMessage>();
  let keptBytes = 0;

  const remove = (message: StoredMessage) => {
    if (messages.delete(message.messageId)) keptBytes -= sizeBytesOf(message);
  };

  return {
    add(message) {
      const bytes = keptBytes + sizeBytesOf(message);
      if (messages.size >= QUEUE_MESSAGES_MAX || bytes > QUEUE_BYTES_MAX) throw fullQueue(queueName);
      keptBytes = bytes;
      messages.set(message.messageId, message);
    },
    remove,
    find(receiptHandle) {
      const [, messageId = '', count] = /^(.+):(\d+)$/.exec(receiptHandle) ?? [];
      if (count === undefined) {
        const reason = `The input receipt handle "${receiptHandle}" is not valid.`;
        throw new ServiceError('ReceiptHandleIsInvalid', reason);
      }
      const message = messages.get(messageId);
      return message?.receiveCount === Number(count) ? message : undefined;
    },
    forgetSentBefore(timeMs) {
      for (const message of messages.values()) {
        if (message.sentMs > timeMs) return;
        remove(message);
      }
    },
    all: () => messages.values(),
    countsAt: (nowMs) => countsOf([...messages.values()], nowMs),
  };
}

/** Names the message and the reception, because a reception makes the handles of earlier ones invalid. */
export function receiptHandleOf({ messageId, receiveCount }: StoredMessage): string {
  return `${messageId}:${receiveCount}`;
}

/** Names, types and values of attributes count, too. */
export function sizeBytesOf({ body, attributes = {} }: SentMessage): number {
  return Object.entries(attributes).reduce(
    (sum, [name, { DataType, StringValue = '', BinaryValue = '' }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + Buffer.byteLength(BinaryValue, 'base64'),
    Buffer.byteLength(body),
  );
}

/** A message is delayed until it is visible for the first time, and hidden after each reception. */
function countsOf(messages: readonly StoredMessage[], nowMs: number): QueueCounts {
  const invisible = messages.filter(({ visibleAtMs }) => visibleAtMs > nowMs);
  const delayed = invisible.filter(({ receiveCount }) => receiveCount === 0).length;
  return { visible: messages.length - invisible.length, hidden: invisible.length - delayed, delayed };
}

function fullQueue(name: string): ServiceError {
  const bound = `${QUEUE_MESSAGES_MAX} messages and ${QUEUE_BYTES_MAX / 1_048_576} MiB`;
  const remedy = 'Receive and delete messages, or purge the queue.';
  const reason = `The queue ${name} is full: the local AWS keeps at most ${bound}. ${remedy}`;
  return new ServiceError('OverLimit', reason);
}
