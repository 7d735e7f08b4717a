/** Invokes a function for batches of its queue and for its schedule. */

import type { BatchResponse } from '../../../functions/notifier/notify.ts';
import type { QueueMessage } from '../aws/services/queue.ts';

export interface QueueInvocations {
  /** Starts an invocation for each batch that waits, up to the limit. */
  receiveAll(): void;
  /** Starts an invocation without a batch, as the schedule does. */
  startSweep(): void;
  /** Resolves when the queue shows nothing more and no invocation is under way. */
  drain(): Promise<void>;
}

/** This half of a queue is the event source's. */
interface ReadQueue {
  receive(countMax: number): readonly QueueMessage[];
  delete(messageId: string): void;
}

/**
 * No further batch is taken while this many invocations run. Lambda reads a queue with five pollers at first, and a
 * sweep may run beside them.
 */
const INVOCATIONS_MAX = 6;

export function createQueueInvocations(
  queue: ReadQueue,
  batchSize: number,
  invoke: (event: unknown) => Promise<BatchResponse | undefined>,
): QueueInvocations {
  const underWay = new Set<Promise<unknown>>();
  const start = (task: Promise<unknown>): void => {
    underWay.add(task);
    void task.finally(() => underWay.delete(task));
  };

  const handle = async (batch: readonly QueueMessage[]): Promise<void> => {
    const Records = batch.map(recordOf);
    const failedIds = failedIn(batch, await invoke({ Records }));
    // A failed message stays hidden until its time-out is over, as on AWS. If it were released at once, it would use
    // up its tries in a second.
    for (const { messageId } of batch) if (!failedIds.has(messageId)) queue.delete(messageId);
  };

  /**
   * Handles several batches at once, as Lambda does, so one that waits for a slow channel does not delay the others.
   */
  const receiveAll = (): void => {
    while (underWay.size < INVOCATIONS_MAX) {
      const batch = queue.receive(batchSize);
      if (batch.length === 0) return;
      start(handle(batch));
    }
  };

  return {
    receiveAll,
    startSweep: () => start(invoke({})),
    async drain() {
      for (;;) {
        receiveAll();
        if (underWay.size === 0) return;
        await Promise.all(underWay);
      }
    },
  };
}

/** The fields of Lambda's event that the functions use. A queue of this machine knows a reception by the message's id. */
function recordOf({ messageId, body, receiveCount }: QueueMessage) {
  const attributes = { ApproximateReceiveCount: String(receiveCount) };
  return { messageId, receiptHandle: messageId, body, attributes, eventSource: 'aws:sqs' };
}

/** Returns the messages that failed. They are all messages of the batch when the invocation itself failed. */
function failedIn(batch: readonly QueueMessage[], response: BatchResponse | undefined): ReadonlySet<string> {
  return new Set(
    response?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier) ??
      batch.map(({ messageId }) => messageId),
  );
}
