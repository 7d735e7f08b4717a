/** Hands a message back to its FIFO queue (Amazon SQS API Reference, ChangeMessageVisibility), to be received again after a pause. */

import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';

/**
 * The message must also be reported as failed, so that Lambda does not delete it (Lambda Developer Guide, "Using Lambda with
 * Amazon SQS", partial batch responses). No other message of the project is received during the pause. Rejects when the
 * queue does not answer.
 */
export type HandBack = (receiptHandle: string, pauseMs: number) => Promise<void>;

export function createSqsHandBack(client: SQSClient, queueUrl: string): HandBack {
  return async (receiptHandle, pauseMs) => {
    const VisibilityTimeout = Math.ceil(pauseMs / 1_000);
    const input = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout };
    await client.send(new ChangeMessageVisibilityCommand(input));
  };
}
