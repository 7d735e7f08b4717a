/** The commands that wait in line, and those that have left it within a day: a list, one of them, and its withdrawal. */

import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/per-account.ts';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { hasSettled, standingOf } from '../../../shared/commands/queue/command-standing.ts';
import { COMMAND_STATES } from '../../../shared/commands/queue/queued-command.ts';
import type { AccountQueue } from '../queue/account-queue.ts';
import { type CancelDeps, cancelCommand } from '../queue/cancel-command.ts';
import {
  answerFor,
  commandAnswer,
  commandView,
  type FoundCommand,
  queuedAnswer,
} from '../queue/command-view.ts';
import { COMMANDS_PATH, type QueueDeps } from '../queue/queue-command.ts';
import type { ReadModel } from '../read-model/read-model.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX, wait, waitFor } from '../serving/wait-for.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import { type ModelOf, type ReadRequest, readRoute } from './bridge-route.ts';
import { cursor, filterText, limit, paged } from './page-query.ts';

export interface QueueRouteDeps
  extends Omit<CancelDeps, 'clock'>,
    Pick<QueueDeps, 'queueKey' | 'patient' | 'clock'> {
  readonly queues: PerAccount<AccountQueue>;
}

const listQuery = z.strictObject({
  limit,
  cursor,
  state: z.enum(COMMAND_STATES).optional(),
  project_id: filterText,
  client_id: filterText,
});

const waitQuery = z.strictObject({ wait });

const COMMAND_PATH = COMMANDS_PATH.slice(BRIDGE_MOUNT.length);

export function queueRoutes(modelOf: ModelOf, deps: QueueRouteDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listQueuedCommands',
        path: COMMAND_PATH,
        summary: 'Commands that were sent with "Prefer: respond-async", newest first',
        description:
          'For a day after their end. A page with filters may be short or empty and still have a cursor.',
        access: 'operations:read',
        query: listQuery,
        answer: paged(commandAnswer, 'commands'),
      },
      (request, model) => listCommands(deps, request, model),
    ),
    readRoute(
      modelOf,
      {
        id: 'getQueuedCommand',
        path: `${COMMAND_PATH}/{command_id}`,
        summary: 'A command that waits in line, or what became of it; waits until it settles',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the command has settled, or after N seconds as it is then.`,
        access: 'operations:read',
        query: waitQuery,
        answer: queuedAnswer,
      },
      (request) => getCommand(deps, request),
    ),
    {
      id: 'cancelQueuedCommand',
      method: 'DELETE',
      path: `${COMMANDS_PATH}/{command_id}`,
      summary: 'Withdraw a command while it is queued',
      description:
        'The caller who sent it may do this, and callers with commands:freeze. A command that was sent is answered with 409.',
      group: 'Bridge',
      access: 'operations:read',
      status: 200,
      answer: queuedAnswer,
      furtherProblems: ['not-in-line'],
      async handle({ caller, ids }) {
        const queue = queueOf(deps, caller);
        const found = await findFor(queue, caller, ids['command_id'] ?? '');
        const mayCancel =
          found.command.client_id === caller.client_id || caller.scopes.has('commands:freeze');
        if (!mayCancel) throw notYours();
        const cancelled = await cancelCommand(deps, queue, found);
        return { status: 200, body: { command: commandView(cancelled) } };
      },
    },
  ];
}

async function listCommands(
  deps: QueueRouteDeps,
  { caller, query }: ReadRequest<typeof listQuery>,
  model: ReadModel,
): Promise<ApiAnswer> {
  const queue = queueOf(deps, caller);
  const { items, next } = await model.queuedCommands({ limit: query.limit, cursor: query.cursor });
  const visible = items.filter(
    ({ project_id, client_id }) =>
      maySee(caller, project_id) &&
      (query.project_id ?? project_id) === project_id &&
      (query.client_id ?? client_id) === client_id,
  );
  const found = await Promise.all(
    visible.map(async (command): Promise<FoundCommand> => {
      const { state, project_id, command_id } = command;
      const record = state === 'running' ? await queue.readRecord(project_id, command_id) : undefined;
      return { command, record, line: undefined };
    }),
  );
  const views = found.map(commandView).filter(({ state }) => (query.state ?? state) === state);
  return { status: 200, body: { commands: views, cursor: next } };
}

async function getCommand(
  deps: QueueRouteDeps,
  { caller, ids, query, signal }: ReadRequest<typeof waitQuery>,
): Promise<ApiAnswer> {
  const { patient, clock, queueKey } = deps;
  const queue = queueOf(deps, caller);
  const waitMs = query.wait * 1_000;
  const found = await waitFor({
    read: () => findFor(queue, caller, ids['command_id'] ?? ''),
    isDone: ({ command, record }) => hasSettled(standingOf(command, record)),
    waitMs,
    clock,
    signal,
    beginWait: () => patient.wait(caller, waitMs),
  });
  const answer = answerFor(found.command, caller, await queueKey(), clock.now());
  return { status: 200, body: { command: { ...commandView(found), ...(answer && { answer }) } } };
}

/** A command of a project that the caller must not see looks like one that does not exist. Rejects with `Problem`. */
async function findFor(queue: AccountQueue, caller: Caller, commandId: string): Promise<FoundCommand> {
  const found = await queue.find(commandId);
  if (found === undefined) throw notFound();
  if (!maySee(caller, found.command.project_id)) throw notFound({ isHidden: true });
  return found;
}

/** Throws `Problem` `not-found` when the account is not configured. */
function queueOf({ queues }: QueueRouteDeps, { account_id }: Caller): AccountQueue {
  const queue = queues.get(account_id);
  if (queue === undefined) throw notFound();
  return queue;
}

function notYours(): Problem {
  return new Problem('scope-missing', {
    detail: 'Another caller sent this command; withdrawing it needs the scope commands:freeze.',
  });
}
