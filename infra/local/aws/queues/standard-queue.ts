/**
 * Behaves as a standard queue of SQS towards its consumers: messages are hidden while they are processed, appear again,
 * age, and go to a dead-letter queue (Amazon SQS Developer Guide, "Standard queues").
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { ServiceError } from '../services/service.ts';
import { changedAttributes, numberOf, type QueueAttributes, redrivePolicyOf } from './queue-attributes.ts';
import {
  createStoredMessages,
  type MessageAttribute,
  type QueueCounts,
  receiptHandleOf,
  type SentMessage,
  type StoredMessage,
  sizeBytesOf,
} from './stored-messages.ts';

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

interface StandardQueuePorts {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Returns false when that queue does not exist or is full. The message then stays where it is, as on AWS. */
  readonly moveToDeadLetters: (queueArn: string, message: SentMessage) => boolean;
}

export function createStandardQueue(
  name: string,
  initial: QueueAttributes,
  { clock, newId, moveToDeadLetters }: StandardQueuePorts,
): StandardQueue {
  let attributes = changedAttributes({}, initial);
  const messages = createStoredMessages(name);
  const forgetOld = () =>
    messages.forgetSentBefore(clock.now() - numberOf(attributes, 'MessageRetentionPeriod') * 1_000);

  return {
    name,
    createdMs: clock.now(),
    attributes: () => attributes,
    configure(changes) {
      attributes = changedAttributes(attributes, changes);
    },
    send(message) {
      forgetOld();
      checkSize(message, numberOf(attributes, 'MaximumMessageSize'));
      const stored = storedOf(message, newId(), clock.now(), numberOf(attributes, 'DelaySeconds'));
      messages.add(stored);
      return stored.messageId;
    },
    receive(countMax, visibilitySeconds = numberOf(attributes, 'VisibilityTimeout')) {
      forgetOld();
      const nowMs = clock.now();
      const received: ReceivedMessage[] = [];
      for (const message of messages.all()) {
        if (received.length === countMax) break;
        if (message.visibleAtMs > nowMs) continue;
        if (isGivenUp(message, attributes, moveToDeadLetters)) messages.remove(message);
        else received.push(receivedNow(message, nowMs, nowMs + visibilitySeconds * 1_000));
      }
      return received;
    },
    delete(receiptHandle) {
      const message = messages.find(receiptHandle);
      if (message !== undefined) messages.remove(message);
    },
    hide: (receiptHandle, seconds) => hideUntil(messages.find(receiptHandle), clock.now() + seconds * 1_000),
    purge() {
      for (const message of messages.all()) messages.remove(message);
    },
    counts() {
      forgetOld();
      return messages.countsAt(clock.now());
    },
  };
}

function storedOf(
  message: SentMessage,
  messageId: string,
  sentMs: number,
  usualDelaySeconds: number,
): StoredMessage {
  const visibleAtMs = sentMs + (message.delaySeconds ?? usualDelaySeconds) * 1_000;
  return { ...message, messageId, sentMs, firstReceivedMs: undefined, receiveCount: 0, visibleAtMs };
}

/** A message that was received often enough goes to the dead letters when it is received once more. */
function isGivenUp(
  { receiveCount, body, attributes }: StoredMessage,
  queue: QueueAttributes,
  moveToDeadLetters: StandardQueuePorts['moveToDeadLetters'],
): boolean {
  const redrive = redrivePolicyOf(queue);
  if (redrive === undefined || receiveCount < redrive.maxReceiveCount) return false;
  return moveToDeadLetters(redrive.deadLetterTargetArn, { body, attributes });
}

/** Notes the reception in the message. */
function receivedNow(message: StoredMessage, nowMs: number, visibleAtMs: number): ReceivedMessage {
  message.receiveCount += 1;
  message.firstReceivedMs ??= nowMs;
  message.visibleAtMs = visibleAtMs;
  const { messageId, body, attributes = {}, receiveCount, sentMs, firstReceivedMs } = message;
  const receiptHandle = receiptHandleOf(message);
  return { messageId, body, attributes, receiptHandle, receiveCount, sentMs, firstReceivedMs };
}

function hideUntil(message: StoredMessage | undefined, visibleAtMs: number): void {
  if (message === undefined)
    throw new ServiceError('MessageNotInflight', 'The message referred to is not in flight.');
  message.visibleAtMs = visibleAtMs;
}

function checkSize(message: SentMessage, sizeBytesMax: number): void {
  if (sizeBytesOf(message) <= sizeBytesMax) return;
  const reason = `One or more parameters are invalid. Reason: Message must be shorter than ${sizeBytesMax} bytes.`;
  throw new ServiceError('InvalidParameterValueException', reason, 'InvalidParameterValue');
}
