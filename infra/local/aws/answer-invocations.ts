/** Lets a function answer in its thread what `startQueueLambda` asks it. */

import { parentPort } from 'node:worker_threads';
import type { BatchResponse } from '../../../functions/notifier/notify.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { FromFunction, ToFunction } from './local-lambda.ts';

export function answerInvocations(handler: (event: unknown) => Promise<BatchResponse>): void {
  const answer = (message: FromFunction) => parentPort?.postMessage(message);
  const invoke = async ({ id, event }: ToFunction): Promise<void> => {
    try {
      answer({ id, kind: 'done', response: await handler(event) });
    } catch (error) {
      const { name, message } = toError(error);
      answer({ id, kind: 'failed', reason: `${name}: ${message}` });
    }
  };
  parentPort?.on('message', (question: ToFunction) => void invoke(question));
}
