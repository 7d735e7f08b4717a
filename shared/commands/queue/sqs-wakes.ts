/** Sends wakes through a FIFO queue of SQS. */

import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { AppError } from '../../runtime/errors.ts';
import { groupOf, type Wake, type Wakes } from './wakes.ts';

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
