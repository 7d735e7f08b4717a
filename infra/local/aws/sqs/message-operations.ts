/** Serves the operations of SQS on the messages of standard queues. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import { defineOperation, type Service, ServiceError } from '../protocol.ts';
import type { StandardQueues } from './local-queues.ts';
import {
  type MessageAttribute,
  numberOf,
  type ReceivedMessage,
  type StandardQueue,
} from './standard-queue.ts';

const messageAttributes = z.record(
  z.string(),
  z.object({
    DataType: z.string(),
    StringValue: z.string().optional(),
    BinaryValue: z.string().optional(),
  }),
);
const content = {
  MessageBody: z.string().min(1),
  DelaySeconds: z.number().int().min(0).max(900).optional(),
  MessageAttributes: messageAttributes.default({}),
};
const singleMessage = z.object({ QueueUrl: z.string(), ...content });
const messageEntry = z.object({ Id: z.string().min(1).max(80), ...content });
const messageBatch = z.object({ QueueUrl: z.string(), Entries: z.array(messageEntry) });
const received = z.object({
  QueueUrl: z.string(),
  MaxNumberOfMessages: z.number().int().default(1),
  VisibilityTimeout: z.number().int().min(0).max(43_200).optional(),
  WaitTimeSeconds: z.number().int().min(0).max(20).optional(),
  AttributeNames: z.array(z.string()).default([]),
  MessageSystemAttributeNames: z.array(z.string()).default([]),
  MessageAttributeNames: z.array(z.string()).default([]),
});
const handled = z.object({ QueueUrl: z.string(), ReceiptHandle: z.string() });
const hidden = handled.extend({ VisibilityTimeout: z.number().int().min(0).max(43_200) });
const handleBatch = z.object({
  QueueUrl: z.string(),
  Entries: z.array(z.object({ Id: z.string(), ReceiptHandle: z.string() })),
});

/** Amazon SQS Developer Guide, "Message quotas". */
const ENTRIES_MAX = 10;
const MESSAGE_ATTRIBUTES_MAX = 10;

/** A consumer that waits notices no delay of this length. */
const WAIT_STEP_MS = 50;

export interface MessagePorts {
  readonly clock: Clock;
  /** Ends the waits of consumers when the local AWS closes. */
  readonly closing: AbortSignal;
}

export function createMessageOperations(queues: StandardQueues, ports: MessagePorts): Service {
  return new Map([
    ['SendMessage', defineOperation(singleMessage, (input) => sent(queues.at(input.QueueUrl), input))],
    [
      'SendMessageBatch',
      defineOperation(messageBatch, ({ QueueUrl, Entries }) => {
        const queue = queues.at(QueueUrl);
        return eachEntry(Entries, (entry) => sent(queue, entry));
      }),
    ],
    [
      'ReceiveMessage',
      defineOperation(received, (input) => receive(queues.at(input.QueueUrl), input, ports)),
    ],
    [
      'DeleteMessage',
      defineOperation(handled, ({ QueueUrl, ReceiptHandle }) => {
        queues.at(QueueUrl).delete(ReceiptHandle);
        return {};
      }),
    ],
    [
      'DeleteMessageBatch',
      defineOperation(handleBatch, ({ QueueUrl, Entries }) => {
        const queue = queues.at(QueueUrl);
        return eachEntry(Entries, ({ ReceiptHandle }) => {
          queue.delete(ReceiptHandle);
          return {};
        });
      }),
    ],
    [
      'ChangeMessageVisibility',
      defineOperation(hidden, ({ QueueUrl, ReceiptHandle, VisibilityTimeout }) => {
        queues.at(QueueUrl).hide(ReceiptHandle, VisibilityTimeout);
        return {};
      }),
    ],
  ]);
}

function sent(
  queue: StandardQueue,
  { MessageBody, DelaySeconds, MessageAttributes }: Omit<z.output<typeof messageEntry>, 'Id'>,
): object {
  const count = Object.keys(MessageAttributes).length;
  if (count > MESSAGE_ATTRIBUTES_MAX)
    throw invalid(
      `Number of message attributes [${count}] exceeds the allowed maximum [${MESSAGE_ATTRIBUTES_MAX}].`,
    );
  const MessageId = queue.send({
    body: MessageBody,
    attributes: MessageAttributes,
    delaySeconds: DelaySeconds,
  });
  return { MessageId, MD5OfMessageBody: digestOfBody(MessageBody), ...withDigest(MessageAttributes) };
}

function withDigest(attributes: z.output<typeof singleMessage>['MessageAttributes']): object {
  const digest = digestOfAttributes(attributes);
  return digest === undefined ? {} : { MD5OfMessageAttributes: digest };
}

/** A refused entry leaves the others alone. */
function eachEntry<Entry extends { readonly Id: string }>(
  entries: readonly Entry[],
  perform: (entry: Entry) => object,
): object {
  checkEntries(entries);
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...perform(entry) });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { name, message } = toError(error);
      Failed.push({ Id: entry.Id, SenderFault: true, Code: error.queryCode ?? name, Message: message });
    }
  }
  return { Successful, Failed };
}

function checkEntries(entries: readonly { readonly Id: string }[]): void {
  if (entries.length === 0)
    throw new ServiceError(
      'EmptyBatchRequest',
      'There should be at least one entry in the request.',
      'AWS.SimpleQueueService.EmptyBatchRequest',
    );
  if (entries.length > ENTRIES_MAX)
    throw new ServiceError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${ENTRIES_MAX}. You have sent ${entries.length}.`,
      'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
    );
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length)
    throw new ServiceError(
      'BatchEntryIdsNotDistinct',
      'Two entries have the same Id.',
      'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
    );
}

/** Waits for a message when the queue is empty and the caller or the queue asks for it (long polling). */
async function receive(
  queue: StandardQueue,
  input: z.output<typeof received>,
  { clock, closing }: MessagePorts,
): Promise<object> {
  const { MaxNumberOfMessages, VisibilityTimeout, WaitTimeSeconds } = input;
  if (MaxNumberOfMessages < 1 || MaxNumberOfMessages > ENTRIES_MAX)
    throw invalid(
      `Value ${MaxNumberOfMessages} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and ${ENTRIES_MAX}, if provided.`,
    );
  const waitSeconds = WaitTimeSeconds ?? numberOf(queue.attributes(), 'ReceiveMessageWaitTimeSeconds');
  const untilMs = clock.now() + waitSeconds * 1_000;
  for (;;) {
    const messages = queue.receive(MaxNumberOfMessages, VisibilityTimeout);
    if (messages.length > 0) return { Messages: messages.map((each) => shown(each, input)) };
    if (clock.now() >= untilMs || closing.aborted) return {};
    await clock.sleep(WAIT_STEP_MS, closing).catch(() => {});
  }
}

/** Attributes are shown only when they were asked for. */
function shown(stored: ReceivedMessage, input: z.output<typeof received>): object {
  const systemNames = [...input.AttributeNames, ...input.MessageSystemAttributeNames];
  const systemAttributes = chosen(systemAttributesOf(stored), systemNames);
  const own = chosen(stored.attributes, input.MessageAttributeNames);
  return {
    MessageId: stored.messageId,
    ReceiptHandle: stored.receiptHandle,
    MD5OfBody: digestOfBody(stored.body),
    Body: stored.body,
    ...(Object.keys(systemAttributes).length > 0 && { Attributes: systemAttributes }),
    ...(Object.keys(own).length > 0 && {
      MessageAttributes: own,
      MD5OfMessageAttributes: digestOfAttributes(own),
    }),
  };
}

function systemAttributesOf({ receiveCount, sentMs, firstReceivedMs }: ReceivedMessage) {
  return {
    ApproximateReceiveCount: String(receiveCount),
    SentTimestamp: String(sentMs),
    ApproximateFirstReceiveTimestamp: String(firstReceivedMs),
  };
}

function chosen<Value>(
  all: Readonly<Record<string, Value>>,
  names: readonly string[],
): Record<string, Value> {
  const isAll = names.includes('All') || names.includes('.*');
  return Object.fromEntries(Object.entries(all).filter(([name]) => isAll || names.includes(name)));
}

function invalid(reason: string): ServiceError {
  return new ServiceError('InvalidParameterValueException', reason, 'InvalidParameterValue');
}

export function digestOfBody(body: string): string {
  return createHash('md5').update(body).digest('hex');
}

/** Returns undefined without attributes: the field is then absent. */
function digestOfAttributes(attributes: Readonly<Record<string, MessageAttribute>>): string | undefined {
  const names = Object.keys(attributes).toSorted();
  if (names.length === 0) return undefined;
  const hash = createHash('md5');
  for (const name of names) {
    const { DataType = '', StringValue = '', BinaryValue } = attributes[name] ?? {};
    hash.update(withLength(Buffer.from(name))).update(withLength(Buffer.from(DataType)));
    const isBinary = BinaryValue !== undefined;
    hash.update(Buffer.from([isBinary ? 2 : 1]));
    hash.update(withLength(isBinary ? Buffer.from(BinaryValue, 'base64') : Buffer.from(StringValue)));
  }
  return hash.digest('hex');
}

/** Four bytes with the length precede the value, the highest first. */
function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
