/**
 * Serves commands: what became of those that were sent, those that wait in line and have left it lately, and the
 * withdrawal of one. The freeze of an account holds all of them.
 */

import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import { callbackView } from '../../../shared/commands/callbacks.ts';
import {
  APPROVALS_LINE,
  COMMAND_STATES,
  hasSettled,
  leaveLine,
  standingOf,
} from '../../../shared/commands/queued-command.ts';
import type { Wakes } from '../../../shared/commands/wakes.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { eventsOf } from '../read-model/event-feed.ts';
import { isAmong } from '../read-model/list-page.ts';
import type { ReadModel } from '../read-model/read-model.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX } from '../serving/waiting.ts';
import {
  type AccountQueue,
  answerFor,
  commandSchema,
  commandView,
  type FoundCommand,
  freezeAccount,
  liftFreeze,
  queuedAnswer,
} from '../upstream/account-queue.ts';
import { COMMANDS_PATH, type QueueDeps } from '../upstream/queue-command.ts';
import {
  cursor,
  filterList,
  limit,
  type ModelOf,
  ofCaller,
  paged,
  type ReadRequest,
  readPatiently,
  readRoute,
  type WaitDeps,
  waitQuery,
} from './bridge-route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

export function commandRoutes(modelOf: ModelOf, deps: WaitDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getCommand',
        path: '/projects/{project_id}/commands/{request_id}',
        summary: 'What became of a command; waits until it settles',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the command has settled, or after N seconds as it is then.`,
        access: 'operations:read',
        query: waitQuery,
        answer: z.looseObject({
          command: z.looseObject({ request_id: z.string(), callback: callbackView.optional() }),
        }),
      },
      async (request, model) => {
        const { project_id = '', request_id = '' } = request.ids;
        const record = await readPatiently(deps, request, {
          read: () => model.command(project_id, request_id),
          isDone: (found) => found === undefined || found.is_settled,
        });
        if (record === undefined) throw notFound();
        const callback = await model.callback(record.request_id);
        return { status: 200, body: { command: { ...sentCommandView(record), callback } } };
      },
    ),
  ];
}

function sentCommandView(record: CommandRecord): object {
  const { request_id, client_id, project_id, call, sent_at, is_settled, operation_ids } = record;
  return {
    request_id,
    client_id,
    project_id,
    call,
    sent_at,
    settled: is_settled,
    operation_ids,
    events: eventsOf(record),
  };
}

export interface QueueRouteDeps
  extends Omit<CancelDeps, 'clock'>,
    Pick<QueueDeps, 'queueKey' | 'patient' | 'clock'> {
  readonly queues: PerAccount<AccountQueue>;
}

const listQuery = z.strictObject({
  limit,
  cursor,
  state: z.enum(COMMAND_STATES).optional(),
  project_id: filterList,
  client_id: filterList,
});

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
        answer: paged(commandSchema, 'commands'),
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
      (request, model) => getCommand(deps, request, model),
    ),
    {
      id: 'cancelQueuedCommand',
      method: 'DELETE',
      path: `${COMMANDS_PATH}/{command_id}`,
      summary: 'Withdraw a command while it is queued or waits for a person',
      description:
        'The caller who sent it may do this, and callers with commands:freeze. A command that was sent is answered with 409.',
      group: 'Bridge',
      access: 'operations:read',
      status: 200,
      answer: queuedAnswer,
      furtherProblems: ['not-in-line'],
      async handle({ caller, ids }) {
        const queue = ofCaller(deps.queues, caller);
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
  const queue = ofCaller(deps.queues, caller);
  const { items, next } = await model.queuedCommands({ limit: query.limit, cursor: query.cursor });
  const visible = items.filter(
    ({ project_id, client_id }) =>
      maySee(caller, project_id) &&
      isAmong(query.project_id, project_id) &&
      isAmong(query.client_id, client_id),
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
  request: ReadRequest<typeof waitQuery>,
  model: ReadModel,
): Promise<ApiAnswer> {
  const { clock, queueKey } = deps;
  const { caller, ids } = request;
  const queue = ofCaller(deps.queues, caller);
  const found = await readPatiently(deps, request, {
    read: () => findFor(queue, caller, ids['command_id'] ?? ''),
    isDone: ({ command, record }) => hasSettled(standingOf(command, record)),
  });
  const answer = answerFor(found.command, caller, await queueKey(), clock.now());
  const callback = await model.callback(found.command.command_id);
  return {
    status: 200,
    body: { command: { ...commandView(found), callback, ...(answer && { answer }) } },
  };
}

/** A command of a project that the caller must not see looks like one that does not exist. Rejects with `Problem`. */
async function findFor(queue: AccountQueue, caller: Caller, commandId: string): Promise<FoundCommand> {
  const found = await queue.find(commandId);
  if (found === undefined) throw notFound();
  if (!maySee(caller, found.command.project_id)) throw notFound({ isHidden: true });
  return found;
}

function notYours(): Problem {
  return new Problem('scope-missing', {
    detail: 'Another caller sent this command; withdrawing it needs the scope commands:freeze.',
  });
}

interface CancelDeps {
  readonly wakes: Wakes;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

/**
 * The write that cancels is the one that the worker's own first write competes with, so a cancelled command was not sent
 * and is not sent. The worker then takes the entry out of the line and publishes the end. Throws `Problem` `not-in-line`.
 */
async function cancelCommand(
  { wakes, clock, telemetry, newId }: CancelDeps,
  { store }: AccountQueue,
  { command }: FoundCommand,
): Promise<FoundCommand> {
  const cancelled = leaveLine(command, { state: 'cancelled' }, clock.now());
  const isAwaiting = command.state === 'awaiting_approval';
  const isHeld = isAwaiting || command.state === 'queued';
  if (!isHeld || (await store.changeCommand(cancelled)) === 'conflict') throw notInLine();
  const { account_id, command_id } = command;
  const project_id = isAwaiting ? APPROVALS_LINE : command.project_id;
  await wakes.send([{ account_id, project_id, id: newId() }]).catch((error: unknown) => {
    telemetry.log('error', 'wake.not_sent', { project_id, command_id, reason: toError(error).name });
  });
  return { command: cancelled, record: undefined, line: undefined };
}

function notInLine(): Problem {
  return new Problem('not-in-line', {
    detail: 'The command was sent, or has ended. Look at its state; what was sent cannot be withdrawn.',
  });
}

const FREEZE_PATH = `${BRIDGE_MOUNT}/freeze`;

/** The reason stands in answers to callers, so it is short, and one line. */
const freezeBody = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .regex(/^[^\p{Cc}]*$/u),
});

const freezeAnswer = z.object({
  frozen: z.boolean(),
  reason: z.string().optional(),
  client_id: z.string().optional().describe('The caller who froze the account.'),
  since: z.string().optional(),
});

export function freezeRoutes(deps: QueueRouteDeps): readonly Route[] {
  const common = { path: FREEZE_PATH, group: 'Bridge', status: 200, answer: freezeAnswer } as const;
  return [
    {
      ...common,
      id: 'getFreeze',
      method: 'GET',
      summary: 'Whether the commands of the account are held, and why',
      access: 'operations:read',
      handle: async ({ caller }) => freezeStanding(ofCaller(deps.queues, caller)),
    },
    {
      ...common,
      id: 'freezeAccount',
      method: 'POST',
      summary: 'Hold all commands of the account',
      description:
        'Queued commands wait, within their deadlines. Other commands are answered 503 with the reason. Reads go on.',
      access: 'commands:freeze',
      isAccountWide: true,
      body: freezeBody,
      async handle(request) {
        const queue = ofCaller(deps.queues, request.caller);
        const { reason } = freezeBody.parse(request.body);
        await freezeAccount(queue, { reason, client_id: request.caller.client_id }, deps.clock);
        return freezeStanding(queue);
      },
    },
    {
      ...common,
      id: 'liftFreeze',
      method: 'DELETE',
      summary: 'Let the commands of the account go on',
      access: 'commands:freeze',
      isAccountWide: true,
      async handle({ caller }) {
        const queue = ofCaller(deps.queues, caller);
        await liftFreeze(queue, deps.wakes, { ...caller, newId: deps.newId });
        return freezeStanding(queue);
      },
    },
  ];
}

async function freezeStanding({ store }: AccountQueue): Promise<ApiAnswer> {
  const freeze = await store.readFreeze();
  if (freeze === undefined) return { status: 200, body: { frozen: false } };
  const { reason, client_id, changed_at: since } = freeze;
  return { status: 200, body: { frozen: true, reason, client_id, since } };
}
