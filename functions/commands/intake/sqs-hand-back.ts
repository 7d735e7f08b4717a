/** Hands a message back to its FIFO queue (Amazon SQS API Reference, ChangeMessageVisibility), to be received again after a pause. */

import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { toError } from '../../../shared/runtime/errors.ts';

/**
 * The message must also be reported as failed, so that Lambda does not delete it (Lambda Developer Guide, "Using Lambda with
 * Amazon SQS", partial batch responses). No other message of the project is received during the pause. A message whose
 * reception has ended meanwhile is received again in any case, and needs no handing back. Rejects when the queue does not
 * answer.
 */
export type HandBack = (receiptHandle: string, pauseMs: number) => Promise<void>;

export function createSqsHandBack(client: SQSClient, queueUrl: string): HandBack {
  return async (receiptHandle, pauseMs) => {
    const VisibilityTimeout = Math.ceil(pauseMs / 1_000);
    const input = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout };
    try {
      await client.send(new ChangeMessageVisibilityCommand(input));
    } catch (error) {
      if (!isOfEndedReception(toError(error))) throw error;
    }
  };
}

/** SQS has three answers to a receipt handle of an earlier reception, which depend on what has become of the message. */
function isOfEndedReception({ name, message }: Error): boolean {
  if (name === 'ReceiptHandleIsInvalid' || name === 'MessageNotInflight') return true;
  return name === 'InvalidParameterValue' && /receipt handle has expired/i.test(message);
}
