/** Wakes the worker for a project. A wake carries nothing but the project: what is to be done stands in the table. */

import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { AppError } from '../runtime/errors.ts';

export interface Wake {
  readonly account_id: string;
  readonly project_id: string;
  /** Two wakes of a project with one id count as one for five minutes: it is the deduplication id of SQS. */
  readonly id: string;
}

export interface Wakes {
  /** A wake that is lost costs a minute: the next sweep repeats it. Rejects when a wake could not be sent. */
  send(wakes: readonly Wake[]): Promise<void>;
}

/** The body of a message. */
export const wakeBody = z.object({ account_id: z.string(), project_id: z.string() });

/** Messages of one group are handed out one after the other, so that one project is worked on once at a time. */
export function groupOf({ account_id, project_id }: Pick<Wake, 'account_id' | 'project_id'>): string {
  return `${account_id}/${project_id}`;
}

/** Amazon SQS API Reference, SendMessageBatch. */
const BATCH_ENTRIES_MAX = 10;

/** Rejects with `AppError` `wake_refused` when the queue took only some of the wakes. */
export function createSqsWakes(client: SQSClient, queueUrl: string): Wakes {
  return {
    async send(wakes) {
      let failedCount = 0;
      for (let start = 0; start < wakes.length; start += BATCH_ENTRIES_MAX) {
        const batch = wakes.slice(start, start + BATCH_ENTRIES_MAX);
        const input = { QueueUrl: queueUrl, Entries: batch.map(entryOf) };
        const { Failed = [] } = await client.send(new SendMessageBatchCommand(input));
        failedCount += Failed.length;
      }
      if (failedCount > 0)
        throw new AppError('wake_refused', `The queue refused ${failedCount} of ${wakes.length} wakes`);
    },
  };
}

function entryOf(wake: Wake, place: number) {
  const { account_id, project_id, id } = wake;
  return {
    Id: String(place),
    MessageBody: JSON.stringify({ account_id, project_id }),
    MessageGroupId: groupOf(wake),
    MessageDeduplicationId: id,
  };
}
