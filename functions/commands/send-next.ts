/**
 * Sends the first command of a line, if nothing holds the project, and decides what the answer of the upstream means
 * for the command: its end, or a reason to wait. Nothing here sleeps.
 */

import * as z from 'zod';
import { inLife } from '../../shared/callers/seal.ts';
import { withoutSecrets } from '../../shared/commands/json-text.ts';
import { openRequest, sealAnswer, updateLine } from '../../shared/commands/queue-store.ts';
import {
  beginSending,
  type CommandEnd,
  lineHeldBy,
  type ProjectLine,
  type QueuedAnswer,
  type QueuedCommand,
  returnToLine,
  SENDING_MS_MAX,
} from '../../shared/commands/queued-command.ts';
import { findLockHolders, sendUnkeyed } from '../../shared/commands/send-command.ts';
import { BODY_CHARACTERS_MAX, type Sent } from '../../shared/commands/send-once.ts';
import { isPassingRefusal, parseRetryAfter, provesNoWork } from '../../shared/rates/retry-decision.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Call } from '../../shared/upstream/calls/call.ts';
import { type CommandRequest, hadNoEffect } from '../../shared/upstream/forward.ts';
import { endCommand, type LineDeps, type LineWait, WAITING } from './line.ts';

/** Undefined when there was no answer. A body that is too large, or that cannot be searched for secrets, is left out. */
function queuedAnswerOf(sent: Sent | undefined, queueKey: Secret, ownerId: string): QueuedAnswer | undefined {
  if (sent?.kind !== 'answered') return undefined;
  const { status, headers, body } = sent.answer;
  const contentType = headers['content-type'];
  const text = withoutSecrets(new TextDecoder().decode(body));
  const isKept = text !== undefined && text.length <= BODY_CHARACTERS_MAX;
  return {
    status,
    ...(contentType !== undefined && { content_type: contentType }),
    ...(isKept && { body: sealAnswer(text, queueKey, ownerId) }),
  };
}

type SentOutcome =
  | {
      readonly kind: 'ended';
      readonly state: CommandEnd['state'];
      readonly operationIds?: readonly string[];
      readonly reason?: string;
    }
  /** The upstream did no work: the command keeps its place and is sent later. */
  | {
      readonly kind: 'held';
      readonly waitingFor: readonly string[];
      readonly pauseMs: number;
      /** A lock was the reason. A reading of the project shows which operations hold it, and when they have ended. */
      readonly isLocked: boolean;
    };

/** After a refusal that names no time, the upstream is asked again after this time at the earliest. */
const PAUSE_MS = 5_000;

/** A rejected key is renewed by a person, so asking more often finds nothing new. */
const KEY_PAUSE_MS = 60_000;

const NOT_SEEN = 'The upstream gave no answer that can be read. The command may have been carried out.';
const UNCLEAR = 'The upstream answered with a failure. The command may have been carried out.';
const MALFORMED = 'This version of the bridge cannot send the command in the form in which it was accepted.';

/** `hasLeft` is false when no request was sent, so that nothing can have been done. */
export function decideSentOutcome(sent: Sent, hasLeft: boolean, nowMs: number): SentOutcome {
  return sent.kind === 'answered' ? ofAnswer(sent, nowMs) : ofFailure(sent, hasLeft);
}

function ofAnswer(
  { answer, operationIds = [], lockedBy = [] }: Extract<Sent, { kind: 'answered' }>,
  nowMs: number,
): SentOutcome {
  const { status, headers } = answer;
  if (status < 300) {
    const state = operationIds.length > 0 ? 'running' : 'succeeded';
    return { kind: 'ended', state, operationIds };
  }
  if (isPassingRefusal(status)) {
    const pauseMs = parseRetryAfter(headers['retry-after'], nowMs) ?? PAUSE_MS;
    // With known holders the end of their operations is what to wait for, and no time.
    const isLocked = status === 423;
    return { kind: 'held', waitingFor: lockedBy, pauseMs: lockedBy.length > 0 ? 0 : pauseMs, isLocked };
  }
  if (provesNoWork(status)) return { kind: 'ended', state: 'refused' };
  return { kind: 'ended', state: 'unknown', reason: UNCLEAR };
}

function ofFailure({ failure }: Extract<Sent, { kind: 'unanswered' }>, hasLeft: boolean): SentOutcome {
  if (hadNoEffect(failure)) return pausedFor(KEY_PAUSE_MS);
  if (hasLeft) return { kind: 'ended', state: 'unknown', reason: NOT_SEEN };
  if (failure.kind === 'rejected') return { kind: 'ended', state: 'failed', reason: MALFORMED };
  return pausedFor(PAUSE_MS);
}

function pausedFor(pauseMs: number): SentOutcome {
  return { kind: 'held', waitingFor: [], pauseMs, isLocked: false };
}

interface Delivery {
  readonly outcome: SentOutcome;
  /** This is undefined when the bridge failed and not the upstream. */
  readonly sent: Sent | undefined;
}

/** No request of a line repeats itself: a refusal is waited out in the line, where it costs nothing. */
const NO_PATIENCE = { patienceMs: 0 } as const;

const FAILED = 'The bridge failed while it sent the command. The command may have been carried out.';

/** A secret that cannot be read at the moment may be readable then. */
const SECRET_PAUSE_MS = 10_000;

/**
 * The request leaves only in the first half of the time that the command is `sent`: a process that was frozen in between
 * must not send what another process has already given up.
 */
async function deliver(deps: LineDeps, command: QueuedCommand, request: CommandRequest): Promise<Delivery> {
  const { account, clock, telemetry } = deps;
  const lastMs = (command.sent_until_ms ?? 0) - SENDING_MS_MAX / 2;
  let hasLeft = false;
  const maySend = () => {
    const isInTime = clock.now() < lastMs;
    hasLeft ||= isInTime;
    return isInTime;
  };
  const guarded = { ...account, upstream: { ...account.upstream, maySend } };
  try {
    const sent = await sendUnkeyed(telemetry, guarded, request, NO_PATIENCE);
    if (sent.kind === 'answered') await sent.recorded;
    return { outcome: decideSentOutcome(sent, hasLeft, clock.now()), sent };
  } catch (error) {
    const { command_id, project_id } = command;
    telemetry.log('error', 'command.not_sent', { project_id, command_id, reason: toError(error).name });
    return { outcome: outcomeOfFailure(hasLeft), sent: undefined };
  }
}

/** Before the request has left, only a secret can be missing. */
function outcomeOfFailure(hasLeft: boolean): SentOutcome {
  if (hasLeft) return { kind: 'ended', state: 'unknown', reason: FAILED };
  return { kind: 'held', waitingFor: [], pauseMs: SECRET_PAUSE_MS, isLocked: false };
}

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
  // The deadline may have passed while the command waited for its permit: the next look then takes it out.
  const nowMs = deps.clock.now();
  if (nowMs >= command.deadline_at_ms) return 'goes on';
  const sending = beginSending(command, nowMs);
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
  const isHeld = async () => deps.isPaused() || (await queue.readFreeze()) !== undefined;
  if (await isHeld()) return WAITING;
  const restMs = line.not_before_ms - clock.now();
  if (restMs > 0) return { kind: 'paused', pauseMs: restMs };
  const holders = await findLockHolders(account, project_id, line.waiting_for);
  if (holders.length > 0) {
    await hold(deps, command, { waitingFor: holders, pauseMs: 0, isLocked: true });
    return WAITING;
  }
  const pauseMs = await admit(client_id);
  // The permit may have been waited for, and no command leaves after a freeze was answered.
  if (pauseMs <= 0) return (await isHeld()) ? WAITING : undefined;
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
  await updateLine(queue, project_id, (line) => lineHeldBy(line, { waiting_for: waitingFor, not_before_ms }));
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
  const { method, path, query, body, json } = parts;
  return {
    requestId: command_id,
    caller: { account_id, client_id },
    target: { id: call, call: callOf(method, path, body !== undefined), isSecret: false },
    ids,
    query,
    body,
    json,
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
    // From here on the command is not lost with this process, which may have no time for more.
    await deps.queue.changeCommand(returnToLine(command));
    await hold(deps, command, { ...outcome, pauseMs: pauseAfter(outcome, line, deps.clock.now()) });
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
