/** Sends the first command of a line, if nothing holds the project. Nothing here sleeps, and a held project costs no request. */

import * as z from 'zod';
import { inLife } from '../../../shared/callers/seal.ts';
import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { findLockHolders } from '../../../shared/commands/lock-holders.ts';
import type { ProjectLine } from '../../../shared/commands/queue/project-line.ts';
import {
  beginSending,
  type QueuedCommand,
  returnToLine,
} from '../../../shared/commands/queue/queued-command.ts';
import { openRequest } from '../../../shared/commands/queue/sealed-request.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { type Delivery, deliver } from './deliver.ts';
import { changeLine, endCommand } from './line-changes.ts';
import type { LineDeps } from './line-deps.ts';
import { type LineWait, WAITING } from './line-wait.ts';
import { queuedAnswerOf } from './queued-answer.ts';

/** Resolves to what the line has to wait for, if it has to wait. */
export async function sendNext(
  deps: LineDeps,
  line: ProjectLine,
  command: QueuedCommand,
): Promise<'goes on' | LineWait> {
  const wait = await waitOf(deps, line, command);
  if (wait !== undefined) return wait;
  const request = await requestOf(deps, command);
  if (request === undefined) return giveUp(deps, command);
  const sending = beginSending(command, deps.clock.now());
  // On a conflict another process sends the command, or a caller has cancelled it: the next look shows which.
  if ((await deps.queue.changeCommand(sending)) === 'conflict') return 'goes on';
  return conclude(deps, line, sending, await deliver(deps, sending, request));
}

/** A pause of the account, a freeze, a lock, a pause that the upstream asked for, or no permit. */
async function waitOf(
  deps: LineDeps,
  line: ProjectLine,
  command: QueuedCommand,
): Promise<LineWait | undefined> {
  const { queue, account, clock, admit } = deps;
  const { project_id, client_id } = command;
  if (deps.isPaused()) return WAITING;
  if ((await queue.readFreeze()) !== undefined) return WAITING;
  const restMs = line.not_before_ms - clock.now();
  if (restMs > 0) return { kind: 'paused', pauseMs: restMs };
  const holders = await findLockHolders(account, project_id, line.waiting_for);
  if (holders.length > 0) {
    await hold(deps, command, { waitingFor: holders, pauseMs: 0, isLocked: true });
    return WAITING;
  }
  const pauseMs = await admit(client_id);
  if (pauseMs <= 0) return undefined;
  await hold(deps, command, { waitingFor: [], pauseMs, isLocked: false });
  return { kind: 'paused', pauseMs };
}

interface Wait {
  readonly waitingFor: readonly string[];
  readonly pauseMs: number;
  readonly isLocked: boolean;
}

/**
 * The poller reads a locked project soon, so that the end of the operation that holds it is recorded soon. A pause of the
 * rate limit is no reason for a reading, which would need a request, too.
 */
async function hold(
  { queue, clock, wishForReading, telemetry }: LineDeps,
  { project_id, command_id, traceparent }: QueuedCommand,
  { waitingFor, pauseMs, isLocked }: Wait,
): Promise<void> {
  const not_before_ms = pauseMs > 0 ? clock.now() + pauseMs : 0;
  await changeLine(queue, project_id, { kind: 'held', hold: { waiting_for: waitingFor, not_before_ms } });
  const lock_holder_count = waitingFor.length;
  telemetry.log('info', 'command.held', {
    project_id,
    command_id,
    lock_holder_count,
    pause_ms: pauseMs,
    traceparent,
  });
  if (isLocked) await wishForReading(project_id);
}

/** Resolves to undefined when the sealed request cannot be opened. */
async function requestOf(
  { queueKey, generation }: LineDeps,
  command: QueuedCommand,
): Promise<CommandRequest | undefined> {
  const { command_id, account_id, client_id, call, ids, request, traceparent } = command;
  const parts =
    request === undefined
      ? undefined
      : openRequest(request, await queueKey(), inLife(generation(), command_id));
  if (parts === undefined) return undefined;
  const { method, path, query, body } = parts;
  return {
    requestId: command_id,
    caller: { account_id, client_id },
    target: { id: call, call: callOf(method, path, body !== undefined), isSecret: false },
    ids,
    query,
    body,
    idempotencyKey: undefined,
    traceparent,
  };
}

/** The API has checked query and body by the schemas of the call. The ids are checked again when the path is filled in. */
function callOf(method: Call['method'], path: string, hasBody: boolean): Call {
  const anything = z.looseObject({});
  return {
    method,
    path,
    summary: '',
    section: '',
    query: anything,
    ...(hasBody && { body: anything }),
    answer: z.unknown(),
    status: 200,
  };
}

/** Such a command settles as failed at once, so that it does not hold the commands behind it. */
async function giveUp(deps: LineDeps, command: QueuedCommand): Promise<'goes on'> {
  const { project_id, command_id, call } = command;
  deps.telemetry.measure('CommandsUnworkable', 1);
  deps.telemetry.log('error', 'command.unworkable', { project_id, command_id, call });
  const reason = 'The bridge can no longer open the request. It was not sent.';
  await endCommand(deps, command, { state: 'failed', reason });
  return 'goes on';
}

async function conclude(
  deps: LineDeps,
  line: ProjectLine,
  command: QueuedCommand,
  { outcome, sent }: Delivery,
): Promise<'goes on'> {
  if (outcome.kind === 'held') {
    await hold(deps, command, { ...outcome, pauseMs: pauseAfter(outcome, line, deps.clock.now()) });
    await deps.queue.changeCommand(returnToLine(command));
    // What holds the project may have ended meanwhile. Its wake found the command `sent` and changed nothing.
    return 'goes on';
  }
  const { state, operationIds: operation_ids, reason } = outcome;
  const answer = queuedAnswerOf(sent, await deps.queueKey(), inLife(deps.generation(), command.command_id));
  await endCommand(deps, command, { state, operation_ids, reason, answer });
  return 'goes on';
}

/** A lock whose holder no poll has shown by the second refusal is asked about less often, because each look costs a request. */
const UNKNOWN_LOCK_PAUSE_MS = 20_000;

/** A pause that ended within this time belongs to the same lock. */
const SAME_LOCK_MS = 60_000;

function pauseAfter({ waitingFor, pauseMs, isLocked }: Wait, line: ProjectLine, nowMs: number): number {
  const isUnknown = isLocked && waitingFor.length === 0;
  const wasPaused = nowMs - line.not_before_ms < SAME_LOCK_MS;
  return isUnknown && wasPaused ? Math.max(pauseMs, UNKNOWN_LOCK_PAUSE_MS) : pauseMs;
}
