/**
 * Behaves as a standard queue of SQS towards its consumers: messages are hidden while they are processed, appear
 * again, and are kept in the order of their arrival, within the bounds of the local AWS. Its attributes are checked,
 * and listed as SQS does (Amazon SQS API Reference, SetQueueAttributes).
 */

import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { ServiceError } from '../protocol.ts';

/** Every attribute that was set, as SQS takes and shows it: text. */
export type QueueAttributes = Readonly<Record<string, string>>;

interface WholeNumber {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
}

/** A message has at most 1 MiB since August 2025 (Amazon SQS Developer Guide, "Message quotas"). */
const NUMBERS: Readonly<Record<string, WholeNumber>> = {
  DelaySeconds: { min: 0, max: 900, fallback: 0 },
  MaximumMessageSize: { min: 1_024, max: 1_048_576, fallback: 1_048_576 },
  MessageRetentionPeriod: { min: 60, max: 1_209_600, fallback: 345_600 },
  ReceiveMessageWaitTimeSeconds: { min: 0, max: 20, fallback: 0 },
  VisibilityTimeout: { min: 0, max: 43_200, fallback: 30 },
};

/** These are kept and shown, and change nothing here: nothing is encrypted, and every queue may use every other one. */
const KEPT = ['KmsMasterKeyId', 'KmsDataKeyReusePeriodSeconds', 'SqsManagedSseEnabled', 'RedriveAllowPolicy'];

/** An empty text removes each of these. */
const DOCUMENTS = ['Policy', 'RedrivePolicy'];

const redrivePolicy = z.object({
  deadLetterTargetArn: z.string(),
  /** Tools write the number as a text, too. */
  maxReceiveCount: z.coerce.number().int().min(1).max(1_000),
});

type RedrivePolicy = z.output<typeof redrivePolicy>;

/** Throws a `ServiceError` when SQS would refuse one of the attributes. */
function changedAttributes(before: QueueAttributes, changes: QueueAttributes): QueueAttributes {
  for (const [name, value] of Object.entries(changes)) check(name, value);
  const merged = { ...before, ...changes };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ''));
}

/** Returns the number that was set, or the one that SQS takes otherwise. */
export function numberOf(attributes: QueueAttributes, name: string): number {
  return Number(attributes[name] ?? NUMBERS[name]?.fallback);
}

function redrivePolicyOf({ RedrivePolicy }: QueueAttributes): RedrivePolicy | undefined {
  return RedrivePolicy === undefined ? undefined : redrivePolicy.parse(JSON.parse(RedrivePolicy));
}

/** Returns what was set together with what SQS takes otherwise. */
export function allAttributes(attributes: QueueAttributes): QueueAttributes {
  const fallbacks = Object.entries(NUMBERS).map(([name, { fallback }]) => [name, String(fallback)]);
  return { ...Object.fromEntries(fallbacks), SqsManagedSseEnabled: 'true', ...attributes };
}

function check(name: string, value: string): void {
  if (name === 'FifoQueue' || name === 'ContentBasedDeduplication')
    throw new ServiceError('UnsupportedOperation', 'The local AWS creates standard queues only.');
  const bounds = NUMBERS[name];
  if (bounds === undefined && !KEPT.includes(name) && !DOCUMENTS.includes(name))
    throw new ServiceError('InvalidAttributeName', `Unknown Attribute ${name}.`);
  if (bounds !== undefined && !isWithin(value, bounds)) throw invalid(name);
  if (value === '') return;
  if (name === 'Policy' && parsedJson(value) === undefined) throw invalid(name);
  if (name === 'RedrivePolicy' && !redrivePolicy.safeParse(parsedJson(value)).success) throw invalid(name);
}

function isWithin(value: string, { min, max }: WholeNumber): boolean {
  return /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max;
}

function invalid(name: string): ServiceError {
  return new ServiceError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

interface StoredMessage extends SentMessage {
  readonly messageId: string;
  readonly sentMs: number;
  firstReceivedMs: number | undefined;
  receiveCount: number;
  visibleAtMs: number;
}

interface QueueCounts {
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
}

interface StoredMessages {
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

function createStoredMessages(queueName: string): StoredMessages {
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
function receiptHandleOf({ messageId, receiveCount }: StoredMessage): string {
  return `${messageId}:${receiveCount}`;
}

/** Names, types and values of attributes count, too. */
function sizeBytesOf({ body, attributes = {} }: SentMessage): number {
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
