/**
 * Behaves as a queue that Lambda's event source reads: received messages are hidden, appear again, and end in the
 * dead letters.
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';

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

export interface QueueSettings {
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
