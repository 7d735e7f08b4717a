/**
 * Behaves as Step Functions does towards a service that ends tasks. There are no state machines: a task waits from the
 * first call on that names it by a token of its own making, and ends once.
 */

import { z } from 'zod';
import { type Operation, type Service, ServiceError } from './protocol.ts';

/** A task whose token begins with this waits. Other tokens are of no task. */
export const TASK_TOKEN_PREFIX = 'local-task-';

type TaskEnd = { readonly output: unknown } | { readonly error: string; readonly cause: string };

export interface LocalTasks {
  /** Returns how many signs of life the task has got, and its end. */
  find(token: string): { readonly heartbeatCount: number; readonly end: TaskEnd | undefined } | undefined;
  /** Is called with each end. */
  onEnd: (end: TaskEnd, token: string) => void;
}

/** Step Functions API Reference, SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat. */
const OUTPUT_BYTES_MAX = 262_144;
const heartbeat = z.object({ taskToken: z.string().min(1).max(2_048) });
const success = heartbeat.extend({
  output: z.string().refine((output) => Buffer.byteLength(output) <= OUTPUT_BYTES_MAX),
});
const failure = heartbeat.extend({
  error: z.string().max(256).default(''),
  cause: z.string().max(32_768).default(''),
});

export function createLocalTasks(): LocalTasks & { readonly service: Service } {
  const tasks = new Map<string, { heartbeatCount: number; end: TaskEnd | undefined }>();
  const waiting = (token: string) => {
    if (!token.startsWith(TASK_TOKEN_PREFIX)) throw new ServiceError('InvalidToken', 'Invalid token');
    const task = tasks.get(token) ?? { heartbeatCount: 0, end: undefined };
    if (task.end !== undefined)
      throw new ServiceError('TaskTimedOut', 'Provided task does not exist anymore');
    tasks.set(token, task);
    return task;
  };
  const local: LocalTasks = { find: (token) => tasks.get(token), onEnd: () => {} };
  const end = (token: string, ended: TaskEnd) => {
    waiting(token).end = ended;
    local.onEnd(ended, token);
  };
  const service = new Map<string, Operation>();
  service.set(
    'SendTaskHeartbeat',
    checked(heartbeat, ({ taskToken }) => {
      waiting(taskToken).heartbeatCount += 1;
    }),
  );
  service.set(
    'SendTaskSuccess',
    checked(success, ({ taskToken, output }) => end(taskToken, { output: parsed(output) })),
  );
  service.set(
    'SendTaskFailure',
    checked(failure, ({ taskToken, ...ended }) => end(taskToken, ended)),
  );
  return Object.assign(local, { service });
}

/** Step Functions calls a member beyond its bounds a ValidationException. */
function checked<Body extends z.ZodType>(body: Body, perform: (input: z.output<Body>) => void): Operation {
  return (json) => {
    const { data, error } = body.safeParse(json);
    if (error) throw new ServiceError('ValidationException', z.prettifyError(error));
    perform(data);
    return {};
  };
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    throw new ServiceError('InvalidOutput', 'Could not parse the output as JSON');
  }
}
