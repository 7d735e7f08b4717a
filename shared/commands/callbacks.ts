/**
 * Keeps the callbacks of one account: tasks of AWS Step Functions that wait for the end of a command.
 *
 * Why none is lost: the item is written before the command is sent, and stands in the work index until Step Functions
 * has taken the end or has no such task. The worker looks at that index once a minute. It finds the end of the command in
 * what is stored: the queued command, the record of a command that was sent at once, or the note that the API wrote with
 * its answer. A process that died without a note leaves an end of its own, `unknown`, after `NOTED_WITHIN_MS`. Whoever
 * dies behind the call of Step Functions calls again, and a task that has ended takes no second end.
 */

import * as z from 'zod';
import type { SealOptions } from '../callers/seal.ts';
import { DAY_MS, isoTimeOf, MINUTE_MS } from '../records/time.ts';
import type { Secret } from '../runtime/secret.ts';
import { callbackKey, callbackRequestIdOf, callbacksOf } from '../store/keys.ts';
import type { Table } from '../store/table.ts';
import { type NoteUnreadable, readable, unlessUnreadable } from '../store/unreadable.ts';

/** Step Functions has no longer token (API Reference, SendTaskSuccess). */
export const TASK_TOKEN_CHARACTERS_MAX = 2_048;

/** The process that sends a command has this long to note what became of it. A request ends after half of it. */
const NOTED_WITHIN_MS = MINUTE_MS;

/** A command waits in line for a day at most, and its operations for another. Afterwards its end counts as unknown. */
export const ENDED_WITHIN_MS = 3 * DAY_MS;

/** What Step Functions does not take within a day of that is given up. */
export const DELIVERED_WITHIN_MS = ENDED_WITHIN_MS + DAY_MS;

const callback = z.object({
  account_id: z.string(),
  /** The request named the callback. */
  request_id: z.string(),
  /** This command's end is told. It is another request's when an Idempotency-Key was used before. */
  command_id: z.string(),
  call: z.string(),
  /** The command has records in these projects, once it has started operations there. */
  project_ids: z.array(z.string()),
  is_queued: z.boolean(),
  /** The branch that the command creates is waited for, too. */
  awaits_branch: z.boolean(),
  accepted_at: z.string(),
  /** The process that sends the command notes by then what became of it. It is absent once it has. */
  noted_until_ms: z.number().optional(),
  /** The command has ended like this, and no record says so. */
  outcome: z.string().optional(),
  reason: z.string().optional(),
  /** The token of the task is sealed. It goes when the callback has ended. */
  task_token: z.string().optional(),
  callback_state: z
    .enum(['waiting', 'delivered', 'task_gone', 'given_up'])
    .describe(
      'waiting: Step Functions has not taken the end yet. delivered: it has. task_gone: the task had ended, or there is none. given_up: it was not taken within a day.',
    ),
  /** Step Functions gave this error last. */
  trouble: z.string().optional().describe('The last error of Step Functions, such as AccessDeniedException.'),
  failed_count: z.number().optional(),
  not_before_ms: z.number().optional(),
});

export type Callback = Readonly<z.output<typeof callback>>;

export const CALLBACK_ATTRIBUTES: readonly string[] = Object.keys(callback.shape);

/** This is what the API shows of a callback. */
export const callbackView = z.object({
  state: callback.shape.callback_state,
  trouble: callback.shape.trouble,
});

export type CallbackView = z.output<typeof callbackView>;

export type Callbacks = ReturnType<typeof createCallbacks>;

/** Every method rejects when the table does. Each write may be repeated. */
export function createCallbacks(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  const read = async (requestId: string): Promise<Callback | undefined> => {
    const item = await table.get(callbackKey(accountId, requestId));
    return item && readable(callback, item, noteUnreadable);
  };
  return {
    async add(
      added: Pick<
        Callback,
        'request_id' | 'call' | 'project_ids' | 'is_queued' | 'awaits_branch' | 'task_token'
      >,
      nowMs: number,
    ): Promise<void> {
      const set: Callback = {
        ...added,
        account_id: accountId,
        command_id: added.request_id,
        accepted_at: isoTimeOf(nowMs),
        noted_until_ms: nowMs + NOTED_WITHIN_MS,
        callback_state: 'waiting',
      };
      const expires_at = Math.ceil((nowMs + DELIVERED_WITHIN_MS + 2 * DAY_MS) / 1_000);
      const item = { kind: 'callback', ...set, expires_at, work: callbacksOf(accountId) };
      await table.update({ key: callbackKey(accountId, added.request_id), set: item });
    },

    /** Removes the fields that are undefined. A callback that has ended meanwhile stays as it is. */
    async change(requestId: string, set: Partial<Callback>): Promise<void> {
      const absent = Object.entries(set).flatMap(([name, value]) => (value === undefined ? name : []));
      await table.update({
        key: callbackKey(accountId, requestId),
        set,
        remove: set.callback_state === undefined ? absent : [...absent, 'work', 'task_token'],
        condition: { kind: 'equals', name: 'callback_state', value: 'waiting' },
      });
    },

    /** Resolves to undefined when there is none. Rejects with `UnreadableItemError` when it cannot be read. */
    read,

    async view(requestId: string): Promise<CallbackView | undefined> {
      const found = await unlessUnreadable(read(requestId));
      return found && { state: found.callback_state, trouble: found.trouble };
    },

    /** Finds the requests whose callbacks have not ended. The index can lag by a moment. */
    findWaiting: async (): Promise<readonly string[]> =>
      (await table.queryWork({ work: callbacksOf(accountId) })).flatMap(
        (key) => callbackRequestIdOf(key) ?? [],
      ),
  };
}

/** `owner` is the request in one life of its account. */
export function tokenSeal(key: Secret, owner: string): SealOptions {
  return { key, purpose: 'task-token', boundTo: owner };
}
