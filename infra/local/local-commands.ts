/**
 * Runs the worker for queued commands on this machine as it is deployed: FIFO queue with dead letters, rule, schedule, and
 * the function's own handler.
 */

import { randomUUID } from 'node:crypto';
import { commandEndedPattern, commandsQueue, commandsSchedule } from '../../functions/commands/invocation.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { LocalAws } from './aws/local-aws.ts';
import type { WorkerSettings } from './aws/local-lambda.ts';
import { createQueueInvocations, startQueueLambda } from './aws/local-lambda.ts';
import { createLocalFifoQueue, type LocalFifoQueue } from './aws/sqs/event-source.ts';
import { COMMANDS_QUEUE_NAME, RULE_OWNER } from './bridge-names.ts';

export interface LocalCommandsOptions extends WorkerSettings {
  readonly aws: LocalAws;
  readonly busName: string;
  readonly clock: Clock;
  /** The environment of the deployed function. */
  readonly environment: Readonly<Record<string, string>>;
  /** A failure that a person has to know of, as a sentence. */
  readonly onFailure: (sentence: string) => void;
  readonly onLogLine: (line: string) => void;
}

export interface LocalCommands {
  /** Ends the sweeps, and resolves when no invocation is under way. What is in line is kept in the table. */
  close(): Promise<void>;
}

export function startLocalCommands(options: LocalCommandsOptions): LocalCommands {
  const { aws, clock, busName, onFailure } = options;
  const queue = openQueue(options);
  const lambda = startQueueLambda({ ...options, script: 'commands-worker' });
  const invocations = createQueueInvocations(queue, {
    batchSize: commandsQueue.batchSize,
    clock,
    lambda,
  });
  const closing = new AbortController();
  aws.bus.putRule({
    name: 'lock-released',
    busName,
    pattern: commandEndedPattern,
    managedBy: RULE_OWNER,
    // An operation that ends during the shutdown wakes no project here. The sweep of the next run wakes it.
    targets: [async (event) => void (closing.signal.aborted || (await lambda.invoke(event)))],
  });
  const running = invocations.runUntil(closing.signal, commandsSchedule.everyMs);
  return {
    async close() {
      closing.abort();
      await running;
      await invocations.drain().catch(() => onFailure('the last invocation failed'));
      await lambda.close();
    },
  };
}

/** The queue to which the API and the worker send over HTTP. */
function openQueue({ aws, clock, onFailure }: LocalCommandsOptions): LocalFifoQueue {
  const queue = createLocalFifoQueue(commandsQueue, {
    clock,
    newId: randomUUID,
    onDeadLetter: ({ body }) => onFailure(`a wake was given up: ${body.slice(0, 200)}`),
  });
  aws.queues.add(COMMANDS_QUEUE_NAME, queue);
  return queue;
}
