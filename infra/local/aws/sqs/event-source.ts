/**
 * Behaves as queues that Lambda's event source reads: received messages are hidden, appear again, and end in the
 * queue for dead letters. FIFO queues have groups and deduplication, too (Amazon SQS Developer Guide, "FIFO queues").
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { ServiceError } from '../protocol.ts';

export interface QueueMessage {
  readonly messageId: string;
  readonly body: string;
  /** The message was received this many times, this time included. */
  readonly receiveCount: number;
}

export interface LocalQueue {
  send(body: string): void;
  /**
   * Hides the messages that it returns. A message that was received `countMax` times goes to the dead letters
   * instead.
   */
  receive(countMax: number): readonly QueueMessage[];
  delete(messageId: string): void;
  /** Shows a message again now, sooner than its time-out would. */
  release(messageId: string): void;
  readonly deadLetters: readonly QueueMessage[];
  /** This many messages are not deleted, hidden ones included. */
  readonly size: number;
}

interface QueueSettings {
  readonly visibilityTimeoutMs: number;
  readonly receiveCountMax: number;
}

interface Stored {
  readonly body: string;
  receiveCount: number;
  visibleAtMs: number;
}

export function createLocalQueue(
  { visibilityTimeoutMs, receiveCountMax }: QueueSettings,
  {
    clock,
    newId,
    onDeadLetter,
  }: {
    readonly clock: Clock;
    readonly newId: () => string;
    readonly onDeadLetter?: (message: QueueMessage) => void;
  },
): LocalQueue {
  const messages = new Map<string, Stored>();
  const deadLetters: QueueMessage[] = [];
  return {
    send: (body) => void messages.set(newId(), { body, receiveCount: 0, visibleAtMs: clock.now() }),
    receive(countMax) {
      const nowMs = clock.now();
      const received: QueueMessage[] = [];
      for (const [messageId, stored] of messages) {
        if (received.length === countMax) break;
        if (stored.visibleAtMs > nowMs) continue;
        const { body, receiveCount } = stored;
        if (receiveCount >= receiveCountMax) {
          const dead = { messageId, body, receiveCount };
          messages.delete(messageId);
          deadLetters.push(dead);
          onDeadLetter?.(dead);
          continue;
        }
        stored.receiveCount += 1;
        stored.visibleAtMs = nowMs + visibilityTimeoutMs;
        received.push({ messageId, body, receiveCount: stored.receiveCount });
      }
      return received;
    },
    delete: (messageId) => void messages.delete(messageId),
    release(messageId) {
      const stored = messages.get(messageId);
      if (stored !== undefined) stored.visibleAtMs = clock.now();
    },
    deadLetters,
    get size() {
      return messages.size;
    },
  };
}

interface FifoMessage {
  readonly body: string;
  readonly groupId: string;
  readonly deduplicationId: string;
}

export interface LocalFifoQueue {
  /** Returns the id of the message, or that of the one of the same group with the same deduplication id. */
  send(message: FifoMessage): string;
  /**
   * Hides the messages that it returns. While one message of a group is hidden, no other message of the group is
   * returned, except in the same batch. A message that was received `receiveCountMax` times goes to the dead letters.
   */
  receive(countMax: number): readonly QueueMessage[];
  delete(messageId: string): void;
  /**
   * Hides a received message for this time from now on, instead of its visibility time-out. Throws a `ServiceError` when
   * the message is not in flight any more.
   */
  hide(messageId: string, durationMs: number): void;
  readonly deadLetters: readonly QueueMessage[];
  /** The number of messages that are not deleted, hidden ones included. */
  readonly size: number;
}

/** Amazon SQS Developer Guide, "Using the message deduplication ID". */
const DEDUPLICATION_MS = 300_000;

interface StoredFifoMessage extends FifoMessage {
  readonly messageId: string;
  receiveCount: number;
  visibleAtMs: number;
}

interface FifoPorts {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly onDeadLetter?: (message: QueueMessage) => void;
}

export function createLocalFifoQueue(
  { visibilityTimeoutMs, receiveCountMax }: QueueSettings,
  { clock, newId, onDeadLetter }: FifoPorts,
): LocalFifoQueue {
  const messages = new Map<string, StoredFifoMessage>();
  const deadLetters: QueueMessage[] = [];
  /** By group and deduplication id; a deleted message counts until its time is over, as on AWS. */
  const sent = new Map<string, { readonly messageId: string; readonly untilMs: number }>();

  const isGivenUp = ({ messageId, body, receiveCount }: StoredFifoMessage): boolean => {
    if (receiveCount < receiveCountMax) return false;
    const dead = { messageId, body, receiveCount };
    messages.delete(messageId);
    deadLetters.push(dead);
    onDeadLetter?.(dead);
    return true;
  };

  return {
    send({ body, groupId, deduplicationId }) {
      const nowMs = clock.now();
      for (const [key, { untilMs }] of sent) if (untilMs <= nowMs) sent.delete(key);
      const key = `${groupId}\n${deduplicationId}`;
      const known = sent.get(key);
      if (known !== undefined) return known.messageId;
      const messageId = newId();
      sent.set(key, { messageId, untilMs: nowMs + DEDUPLICATION_MS });
      const state = { receiveCount: 0, visibleAtMs: nowMs };
      messages.set(messageId, { messageId, body, groupId, deduplicationId, ...state });
      return messageId;
    },
    receive(countMax) {
      const nowMs = clock.now();
      const held = new Set<string>();
      for (const { groupId, visibleAtMs } of messages.values()) if (visibleAtMs > nowMs) held.add(groupId);
      const received: QueueMessage[] = [];
      for (const stored of messages.values()) {
        if (received.length === countMax) break;
        if (held.has(stored.groupId) || isGivenUp(stored)) continue;
        stored.receiveCount += 1;
        stored.visibleAtMs = nowMs + visibilityTimeoutMs;
        const { messageId, body, receiveCount } = stored;
        received.push({ messageId, body, receiveCount });
      }
      return received;
    },
    delete: (messageId) => void messages.delete(messageId),
    hide(messageId, durationMs) {
      const stored = messages.get(messageId);
      if (stored === undefined || stored.visibleAtMs <= clock.now())
        throw new ServiceError('MessageNotInflight', 'The message is not in flight.');
      stored.visibleAtMs = clock.now() + durationMs;
    },
    deadLetters,
    get size() {
      return messages.size;
    },
  };
}
