/**
 * Behaves as SNS does towards a publisher: topics exist or not, messages have limits, and listeners are in this
 * process.
 */

import { type XmlAnswer, xmlError, xmlResult } from './protocol.ts';

export interface TopicMessage {
  readonly topicArn: string;
  readonly subject: string | undefined;
  readonly message: string;
}

export interface LocalTopics {
  create(topicArn: string, listener?: (message: TopicMessage) => void): void;
  /** Everything that was published is here, in order. */
  readonly published: readonly TopicMessage[];
  /** Returns a message id, or the refusal of SNS. */
  publish(
    message: TopicMessage,
  ): { readonly messageId: string } | { readonly code: string; readonly reason: string };
}

/** SNS limits the message in bytes and the subject in characters (API Reference, Publish). */
const MESSAGE_BYTES_MAX = 262_144;
const SUBJECT_PATTERN = /^[\x20-\x7e]{1,99}$/;

export function createLocalTopics(newId: () => string): LocalTopics {
  const listeners = new Map<string, (message: TopicMessage) => void>();
  const published: TopicMessage[] = [];
  return {
    published,
    create: (topicArn, listener = () => {}) => void listeners.set(topicArn, listener),
    publish(message) {
      const listener = listeners.get(message.topicArn);
      if (listener === undefined) return { code: 'NotFound', reason: 'Topic does not exist' };
      if (message.subject !== undefined && !SUBJECT_PATTERN.test(message.subject))
        return { code: 'InvalidParameter', reason: 'Invalid parameter: Subject' };
      if (message.message === '' || Buffer.byteLength(message.message) > MESSAGE_BYTES_MAX)
        return { code: 'InvalidParameter', reason: 'Invalid parameter: Message' };
      published.push(message);
      listener(message);
      return { messageId: newId() };
    },
  };
}

const SNS = 'http://sns.amazonaws.com/doc/2010-03-31/';

/** Answers in the query protocol: a form comes in, and XML goes out. */
export function publishAnswer(topics: LocalTopics, form: URLSearchParams): XmlAnswer {
  if (form.get('Action') !== 'Publish')
    return xmlError(SNS, 400, 'InvalidAction', 'This action is not part of the local AWS');
  const result = topics.publish({
    topicArn: form.get('TopicArn') ?? '',
    subject: form.get('Subject') ?? undefined,
    message: form.get('Message') ?? '',
  });
  if ('code' in result)
    return xmlError(SNS, result.code === 'NotFound' ? 404 : 400, result.code, result.reason);
  return xmlResult('Publish', SNS, { MessageId: result.messageId });
}
