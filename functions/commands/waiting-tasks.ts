/** Defines the tasks of workflows that wait for the bridge, and implements them with AWS Step Functions. */

import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  SFNClient,
} from '@aws-sdk/client-sfn';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';

/** The output is JSON. Without either, the task gets a sign of life. */
export interface TaskMessage {
  readonly output?: string;
  readonly failure?: { readonly error: string; readonly cause: string };
}

export interface WaitingTasks {
  /**
   * Resolves to undefined when the task has the message, and otherwise to the error: `isGone` says that there is no such task any more,
   * and without it the task may have the message all the same. It never rejects.
   */
  tell(
    taskToken: string,
    message: TaskMessage,
  ): Promise<{ readonly error: string; readonly isGone: boolean } | undefined>;
}

/** Step Functions API Reference, SendTaskSuccess. A token of no task at all is `InvalidToken`. */
const GONE: ReadonlySet<string> = new Set(['TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken']);

export function createStepFunctionsTasks(): WaitingTasks {
  const client = new SFNClient(CALLS_END);
  const send = async (taskToken: string, { output, failure }: TaskMessage): Promise<unknown> => {
    if (output !== undefined) return client.send(new SendTaskSuccessCommand({ taskToken, output }));
    if (failure !== undefined) return client.send(new SendTaskFailureCommand({ taskToken, ...failure }));
    return client.send(new SendTaskHeartbeatCommand({ taskToken }));
  };
  return {
    tell: (taskToken, message) =>
      send(taskToken, message).then(
        () => undefined,
        (thrown: unknown) => {
          const error = toError(thrown).name;
          return { error, isGone: GONE.has(error) };
        },
      ),
  };
}
