/** Serves SQS: a FIFO queue of the bridge takes two operations, and a standard queue all of them. */

import type { Operation, Service } from '../services/service.ts';
import { createFifoOperations } from './fifo-operations.ts';
import { type LocalQueues, nameInUrl } from './local-queues.ts';
import { createMessageOperations, type MessagePorts } from './message-operations.ts';
import { createQueueOperations } from './queue-operations.ts';

/** The origin is the address of the local AWS. */
export function createSqsService(queues: LocalQueues, origin: () => string, ports: MessagePorts): Service {
  const standard = new Map([
    ...createQueueOperations(queues.standard, origin),
    ...createMessageOperations(queues.standard, ports),
  ]);
  const ofFifo = [...createFifoOperations(queues)].map(
    ([name, fifo]) => [name, byKind(fifo, standard.get(name) ?? fifo)] as const,
  );
  return new Map([...standard, ...ofFifo]);
}

function byKind(fifo: Operation, standard: Operation): Operation {
  return (body) => {
    const { QueueUrl } = (body ?? {}) as { readonly QueueUrl?: unknown };
    const isFifo = typeof QueueUrl === 'string' && nameInUrl(QueueUrl).endsWith('.fifo');
    return isFifo ? fifo(body) : standard(body);
  };
}
