/**
 * Answers a command that a person must approve first: keeps it, says that nothing was done yet, and answers the same
 * request with its result once it was approved and sent. A person decides here, too, and one write of the item decides.
 */

import type { Caller } from '../../../shared/callers/scopes.ts';
import { fingerprintOf } from '../../../shared/commands/idempotency-store.ts';
import {
  APPROVAL_MS,
  APPROVALS_LINE,
  decide,
  hasLeftLine,
  type QueuedCommand,
} from '../../../shared/commands/queued-command.ts';
import type { CommandOutcome } from '../../../shared/commands/send-once.ts';
import { isoTimeOf } from '../../../shared/records/time.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { isAboutOneProject } from '../../../shared/upstream/calls/call.ts';
import type { CommandRequest } from '../../../shared/upstream/forward.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import {
  asksForLine,
  asyncWaitMs,
  deadlineMsOf,
  isAnsweredAtEnd,
  namedWaitMs,
  waitFor,
} from '../serving/waiting.ts';
import type { AccountQueue, FoundCommand } from './account-queue.ts';
import {
  acceptOnce,
  answerOf,
  findAccepted,
  isAtItsEnd,
  keptAnswerOf,
  type QueueDeps,
  refuseSecrets,
  standingAnswer,
} from './queue-command.ts';

export const APPROVALS_PATH = '/bridge/v1/approvals';
const APPROVALS_PAGE = '/console/approvals';

/** The answer to a repetition must be found for as long as a person may take, and for a day after that. */
const KEY_KEPT_MS = 2 * APPROVAL_MS;

/** A caller who does not ask for less waits for this time for the end of a command that was approved. */
const WAIT_MS = 20_000;

/** Resolves to the outcome of an earlier request when its Idempotency-Key was used for one that needed no approval. */
export async function askForApproval(
  deps: QueueDeps,
  queue: AccountQueue,
  command: CommandRequest,
  request: ApiRequest,
): Promise<ApiAnswer | CommandOutcome> {
  if (!isAboutOneProject(command.target.call))
    throw new Problem('not-queueable', {
      detail:
        'A rule of this token says that a person approves this call first, and it is about no single project, so it cannot wait for that. Nothing was done. Ask whoever made the token.',
    });
  refuseSecrets(command);
  const asked = await keptRequest(deps, queue, command, request);
  if ('kind' in asked) return asked;
  const isAsync = asksForLine(command.target.call, request.headers.prefer);
  if (asked.command.state === 'awaiting_approval' && !isAsync)
    throw required(asked.command, URL.parse(APPROVALS_PAGE, deps.consoleBaseUrl ?? request.url)?.href);
  if (asked.command.state === 'denied' || isUndecided(asked.command)) throw refused(asked.command);
  const isDone = isAsync || isAnsweredAtEnd(request.caller, request.headers.prefer) ? isAtItsEnd : hasAnswer;
  const waitMs = isAsync
    ? asyncWaitMs(request.headers.prefer)
    : (namedWaitMs(request.headers.prefer) ?? WAIT_MS);
  const found = await waitFor({
    read: () => findAccepted(queue, asked.command.command_id),
    isDone,
    waitMs,
    clock: deps.clock,
    signal: request.signal,
    beginWait: () => deps.patient.tryWait(request.caller, 'waits', waitMs),
  });
  // Who asks for the line, or has a task wait, looks for the end. Any other client takes what is below 300 for the result.
  const looksForEnd = isAsync || request.headers['bridge-callback'] !== undefined;
  if (looksForEnd) return answerOf(deps, found, request);
  return (await keptAnswerOf(deps, found, request)) ?? answerWithoutResult(found, request);
}

/** Throws `Problem` unless the upstream has answered the command: then how far the command is stands for an answer that is not kept. */
function answerWithoutResult(found: FoundCommand, request: ApiRequest): ApiAnswer {
  const { state, reason = '', answer } = found.command;
  const members = membersOf(found.command);
  switch (state) {
    case 'running':
    case 'incomplete':
    case 'succeeded':
      return standingAnswer(found, 202, request);
    case 'refused':
      return standingAnswer(found, answer?.status ?? 409, request);
    case 'queued':
    case 'sent':
      throw new Problem('in-progress', {
        detail:
          'A person has approved this call, and the upstream has not answered it yet. It waits in the line of its project. Send the same request again to get its result.',
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
        members,
      });
    case 'cancelled':
      throw new Problem('approval-denied', {
        detail: `This call was withdrawn before it was sent. ${NOTHING_DONE}`,
        members,
      });
    case 'expired':
      throw new Problem('approval-denied', { detail: `${APPROVED} ${reason} ${NOTHING_DONE}`, members });
    case 'failed': {
      const detail = `${APPROVED} ${reason} ${NOTHING_DONE}`;
      throw new Problem('internal', { detail, members, provesNoWork: true });
    }
    // These two were refused before anything was waited for.
    case 'awaiting_approval':
    case 'denied':
      throw refused(found.command);
    case 'unknown':
      throw new Problem('outcome-unknown', {
        detail: `${APPROVED} ${reason} It is never sent again. Look at what it should have changed; then use a new Idempotency-Key if it has to be repeated.`,
        members,
      });
  }
}

const APPROVED = 'A person has approved this call.';

/** In most lines the first command has left by then. */
const RETRY_AFTER_SECONDS = '30';

function hasAnswer({ command }: FoundCommand): boolean {
  return hasLeftLine(command.state);
}

function isUndecided({ state, decided_by }: QueuedCommand): boolean {
  return state === 'expired' && decided_by === undefined;
}

/**
 * The same request finds the same command: by its Idempotency-Key, or by what it asks for. When nobody has decided in time,
 * a request without a key asks anew, and is found as the first one was.
 */
async function keptRequest(
  deps: QueueDeps,
  queue: AccountQueue,
  command: CommandRequest,
  request: ApiRequest,
): Promise<FoundCommand | CommandOutcome> {
  // A deadline of a wrong form is refused, as it is without the rule. That of an approved command begins when it is approved.
  deadlineMsOf(request.headers, queue.deadlineSecondsMax);
  const place = { deadlineMs: APPROVAL_MS, awaitsApproval: true };
  const named = command.idempotencyKey;
  const idempotencyKey = named ?? `approval:${fingerprintOf(await deps.pepper(), command)}`;
  const ask = async (replaces?: string): Promise<FoundCommand | CommandOutcome> => {
    const keyed = { ...command, idempotencyKey, keptForMs: KEY_KEPT_MS, replaces };
    const accepted = await acceptOnce(deps, queue, keyed, place, request);
    return 'outcome' in accepted ? accepted.outcome : findAccepted(queue, accepted.commandId);
  };
  const found = await ask();
  if ('kind' in found || named !== undefined || !isUndecided(found.command)) return found;
  return ask(found.command.command_id);
}

function required({ command_id, deadline_at_ms }: QueuedCommand, page = APPROVALS_PAGE): Problem {
  const path = `${APPROVALS_PATH}/${command_id}`;
  return new Problem('approval-required', {
    detail: `A person must approve this call first. Nothing was done yet, and nothing will be until somebody approves it at ${page}, on Slack, or with "operations-bridge approvals approve ${command_id}". Then send the same request again to get its result. The question stands until ${isoTimeOf(deadline_at_ms)}.`,
    headers: { location: path },
    members: {
      approval: {
        approval_id: command_id,
        state: 'awaiting_approval',
        expires_at: isoTimeOf(deadline_at_ms),
        resource: path,
        console: page,
      },
    },
  });
}

const NOTHING_DONE = 'Nothing was done. To ask again, send it with a new Idempotency-Key.';

function membersOf({ command_id, state }: QueuedCommand) {
  return { approval: { approval_id: command_id, state } };
}

function refused(command: QueuedCommand): Problem {
  const { state, decided_by, reason } = command;
  const why =
    state === 'denied'
      ? `${decided_by} has denied this call${reason === undefined ? '.' : `: ${reason}`}`
      : 'Nobody has decided in time whether to approve this call.';
  return new Problem('approval-denied', {
    detail: `${why} ${NOTHING_DONE}`,
    members: membersOf(command),
  });
}

export interface PersonsDecision {
  readonly isApproved: boolean;
  readonly reason?: string | undefined;
}

/** Each conflict means that people were told of the command meanwhile, or that another person has decided. */
const ATTEMPTS_MAX = 5;

/** Rejects with `Problem` when the caller has asked for it, or somebody has decided otherwise. */
export async function decideApproval(
  {
    wakes,
    clock,
    telemetry,
    newId,
  }: Pick<QueueDeps, 'wakes' | 'clock' | 'telemetry'> & { newId: () => string },
  queue: AccountQueue,
  caller: Caller,
  { commandId, isApproved, reason }: PersonsDecision & { readonly commandId: string },
): Promise<QueuedCommand> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const command = await approvalFor(queue, caller, commandId);
    if (command.client_id === caller.client_id) throw ownApproval();
    if (command.state !== 'awaiting_approval' || clock.now() >= command.deadline_at_ms)
      return decidedBefore(command, caller, isApproved);
    const deadline_at_ms = clock.now() + deadlineMsOf({}, queue.deadlineSecondsMax);
    const decision = { isApproved, decided_by: caller.client_id, reason, deadline_at_ms };
    const next = decide(command, decision, clock.now());
    if ((await queue.store.changeCommand(next)) === 'conflict') continue;
    const { account_id } = caller;
    await wakes.send([{ account_id, project_id: APPROVALS_LINE, id: newId() }]).catch((error: unknown) => {
      telemetry.log('error', 'wake.not_sent', { command_id: commandId, reason: toError(error).name });
    });
    return next;
  }
  throw new Problem('approval-decided', {
    detail: 'Others decide on it at the same time; look at it again.',
  });
}

/** A command that never needed an approval is none, whatever its id is. */
export async function approvalFor(
  { store }: AccountQueue,
  { projectIds }: Caller,
  commandId: string,
): Promise<QueuedCommand> {
  const command = await store.readCommand(commandId);
  if (command?.approval === undefined) throw notFound();
  if (projectIds !== undefined && !projectIds.has(command.project_id)) throw notFound({ isHidden: true });
  return command;
}

/** The same decision of the same person, sent again, is answered as it was the first time. */
function decidedBefore(command: QueuedCommand, caller: Caller, isApproved: boolean): QueuedCommand {
  const { state, decided_by } = command;
  if (decided_by === caller.client_id && isApproved === (state !== 'denied')) return command;
  const what =
    decided_by === undefined
      ? 'Nobody has decided on it in time, so nothing was done'
      : `${decided_by} has ${state === 'denied' ? 'denied' : 'approved'} it before`;
  throw new Problem('approval-decided', { detail: `${what}. This changes nothing.` });
}

function ownApproval(): Problem {
  return new Problem('approval-own', {
    detail: 'The caller who asked cannot decide on it; another person with the scope commands:approve can.',
  });
}
