/**
 * Answers for the end of a command. For a caller who assumes that a command is done when it is answered, it waits until
 * nothing holds the project, sends the command, and answers when the operations that the command has started have
 * ended; all of these waits take one place of the caller. For a workflow whose task waits (`Bridge-Callback`), it keeps
 * the task before the command is sent and notes afterwards what became of that; the worker tells the end.
 */

import { inLife, seal } from '../../../shared/callers/seal.ts';
import {
  type Callback,
  type Callbacks,
  TASK_TOKEN_CHARACTERS_MAX,
  tokenSeal,
} from '../../../shared/commands/callbacks.ts';
import { findLockHolders, operationsInAnswer, sendUnkeyed } from '../../../shared/commands/send-command.ts';
import { type CommandOutcome, type Sent, sendOnce } from '../../../shared/commands/send-once.ts';
import { provesNoWork } from '../../../shared/rates/retry-decision.ts';
import type { SettlementOutcome } from '../../../shared/records/journal-entries.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { type CommandRequest, namedProjectOf } from '../../../shared/upstream/forward.ts';
import type { UpstreamAccount } from '../api-ports.ts';
import { refuseFor } from '../serving/admission.ts';
import { invalid, Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import {
  asksForLine,
  isReadyAwaited,
  namedWaitMs,
  type WaitingPlace,
  waitFor,
  waitingPlace,
} from '../serving/waiting.ts';
import { refuseWhileFrozen, unlessFrozen } from './account-queue.ts';
import type { QueueDeps } from './queue-command.ts';

/** API Gateway gives up after 30 s, and the answer must leave before. */
export const SETTLE_MS_MAX = 25_000;

/** A request to the upstream may take ten seconds, so it leaves this long after the beginning at the latest. */
export const SETTLE_LOCK_MS_MAX = 20_000;

interface SettledCommand {
  readonly outcome: CommandOutcome;
  /** The address of the command's record. It is undefined when all of its operations have ended well, or the upstream has refused it. */
  readonly askAt: string | undefined;
}

/** `Prefer: wait=N` shortens the time for all waits together. Rejects as `sendOnce` and `sendUnkeyed` do, and with `Problem` `rate-limited` or `frozen`. */
export async function settleCommand(
  deps: QueueDeps,
  account: UpstreamAccount,
  command: CommandRequest,
  request: ApiRequest,
): Promise<SettledCommand> {
  const wholeMs = namedWaitMs(request.headers.prefer) ?? SETTLE_MS_MAX;
  const beganMs = deps.clock.now();
  const { signal } = request;
  const place = waitingPlace(deps.patient, request.caller, wholeMs);
  const lock = { untilMs: beganMs + Math.min(wholeMs, SETTLE_LOCK_MS_MAX), signal };
  const way = { deps, account, place };
  try {
    await untilUnlocked(way, command, lock);
    await takePermit(way, command, lock);
    await refuseWhileFrozen(account.queue.freeze);
    const outcome = await sendOnce(deps, command, () => {
      request.beginRecord();
      return send(way, command, lock);
    });
    // The wait for the end reads the record.
    if (outcome.kind === 'answered') await outcome.recorded;
    const end = { untilMs: beganMs + wholeMs, signal };
    return { outcome, askAt: await addressOfOpenEnd(way, { command, outcome }, end) };
  } finally {
    await place.giveBack();
  }
}

interface Way {
  readonly deps: QueueDeps;
  readonly account: UpstreamAccount;
  readonly place: WaitingPlace;
}

async function untilUnlocked(way: Way, command: CommandRequest, lock: Patience): Promise<void> {
  const projectId = namedProjectOf(command);
  if (projectId !== undefined) await awaitLockRelease(way, projectId, lock);
}

/** Waits for a permit as for a lock. Throws `Problem` `rate-limited` when there is none in time, or no place to wait in. */
async function takePermit(
  { deps: { clock }, account, place }: Way,
  { caller }: CommandRequest,
  { untilMs, signal }: Patience,
): Promise<void> {
  const forMs = Math.max(0, untilMs - clock.now());
  refuseFor(await account.fairShare.admit(caller.client_id, { forMs, mayHold: () => place.take(), signal }));
}

/** A lock that the bridge has not recorded shows itself by a 423. The poller then reads the project, and the rest is as before. */
function send(way: Way, command: CommandRequest, lock: Patience): Promise<Sent> {
  const { deps, account, place } = way;
  const projectId = namedProjectOf(command);
  return sendUnkeyed(deps.telemetry, account, command, {
    signal: lock.signal,
    patienceMs: Math.max(0, lock.untilMs - deps.clock.now()),
    async mayWait(status) {
      if (!(await place.take())) return false;
      if (status !== 423) return true;
      if (projectId !== undefined) await account.wishForReading(projectId);
      await untilUnlocked(way, command, lock);
      return true;
    },
    mayRepeat: unlessFrozen(
      account.queue.freeze,
      async (restMs) =>
        restMs > 0 &&
        (await account.fairShare.admit(command.caller.client_id, { forMs: restMs, signal: lock.signal })) ===
          0,
    ),
  });
}

/** Resolves to undefined when nothing is left to ask for. */
async function addressOfOpenEnd(
  way: Way,
  { command, outcome }: { readonly command: CommandRequest; readonly outcome: CommandOutcome },
  patience: Patience,
): Promise<string | undefined> {
  const started = startedCommand(command, outcome);
  if (started === undefined) return undefined;
  const ends = await awaitEnd(way, started, patience);
  const open = ends.find(({ state }) => state !== 'succeeded');
  if (open === undefined) return undefined;
  noteOpenEnd(way.deps, command, open);
  return `/bridge/v1/projects/${open.projectId}/commands/${started.id}`;
}

function noteOpenEnd(
  { telemetry }: QueueDeps,
  { requestId, target, traceparent }: CommandRequest,
  { projectId, state }: CommandEndSeen,
): void {
  telemetry.log('info', 'command.answered_early', {
    request_id: requestId,
    project_id: projectId,
    call: target.id,
    state,
    traceparent,
  });
}

/** The command waits until then, in milliseconds since the epoch by our clock, or until the signal aborts. */
interface Patience {
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves when nothing that is recorded holds the project, when the time is over, or at once when the caller has no
 * free place. What the table does not answer is left to the upstream, which refuses a command while a lock is held.
 */
async function awaitLockRelease(
  { deps: { clock }, account, place }: Way,
  projectId: string,
  { untilMs, signal }: Patience,
): Promise<void> {
  const isHeld = async () => {
    const holders = await findLockHolders(account, projectId).catch(() => []);
    return holders.length > 0;
  };
  await waitFor({
    read: isHeld,
    isDone: (held) => !held,
    waitMs: untilMs - clock.now(),
    clock,
    signal,
    async beginWait() {
      const endWait = await place.beginWait();
      if (endWait !== undefined) await account.wishForReading(projectId);
      return endWait;
    },
  });
}

/** A command has a record in each project in which it has started operations. */
interface StartedCommand {
  /** The record has the id of the request that was sent, which is another one than that of a repetition. */
  readonly id: string;
  readonly projectIds: readonly string[];
}

/** Returns undefined when the command has started no operation, so that there is nothing to wait for. */
export function startedCommand(command: CommandRequest, outcome: CommandOutcome): StartedCommand | undefined {
  if (outcome.kind !== 'answered' && outcome.kind !== 'replayed') return undefined;
  const { status, body } = outcome.answer;
  if (status >= 300) return undefined;
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const { byProject } = operationsInAnswer({ status, headers: {}, body: bytes }, namedProjectOf(command));
  const id = outcome.kind === 'replayed' ? outcome.first.request_id : command.requestId;
  return byProject.size === 0 ? undefined : { id, projectIds: [...byProject.keys()] };
}

/** `unsettled`: some operations have not ended, or are not recorded yet. */
type EndState = SettlementOutcome | 'unsettled';

interface CommandEndSeen {
  readonly projectId: string;
  readonly state: EndState;
}

/** Resolves to the ends when all are there, when the time is over, or at once when the caller has no free place. */
async function awaitEnd(
  { deps: { clock }, account, place }: Way,
  { id, projectIds }: StartedCommand,
  { untilMs, signal }: Patience,
): Promise<readonly CommandEndSeen[]> {
  const read = () => Promise.all(projectIds.map((projectId) => readEnd(account, projectId, id)));
  const isDone = (ends: readonly CommandEndSeen[]) => ends.every(({ state }) => state !== 'unsettled');
  const waitMs = untilMs - clock.now();
  return waitFor({ read, isDone, waitMs, clock, signal, beginWait: () => place.beginWait() });
}

/** The command is done, so a table that does not answer must not turn its answer into a failure. */
async function readEnd(
  { queue }: UpstreamAccount,
  projectId: string,
  requestId: string,
): Promise<CommandEndSeen> {
  const record = await queue.readRecord(projectId, requestId).catch(() => undefined);
  return { projectId, state: record?.entries.at(-1)?.outcome ?? 'unsettled' };
}

export interface CallbackDeps extends QueueDeps {
  /** The configuration names state machines whose tasks the bridge may end. */
  readonly takesCallbacks: boolean;
}

/** Returns undefined when the request names no callback. Throws `Problem` when it names none that can be told the end. */
export function taskTokenOf(
  { 'bridge-callback': text }: ApiRequest['headers'],
  { takesCallbacks }: CallbackDeps,
  isRead: boolean,
): string | undefined {
  if (text === undefined) return undefined;
  const field = 'header.bridge-callback';
  if (isRead) throw invalid([{ field, reason: 'a read has no end to wait for; send it with a command' }]);
  if (!takesCallbacks)
    throw new Problem('call-closed', {
      detail:
        'This bridge ends no tasks of Step Functions. Its operators name the state machines with callbacks.state_machine_arns in bridge.config.ts. Nothing was sent.',
    });
  const token = /^sfn:([\x21-\x7e]+)$/.exec(text)?.[1] ?? '';
  if (token !== '' && token.length <= TASK_TOKEN_CHARACTERS_MAX) return token;
  const reason = `takes "sfn:" and the task token of the workflow ($$.Task.Token), which has 1 to ${TASK_TOKEN_CHARACTERS_MAX} visible characters and no space`;
  throw invalid([{ field, reason }]);
}

/** Whatever becomes of the request from here on, its task gets an end, if it names one. */
export async function withCallback(
  { queueKey, clock, telemetry }: CallbackDeps,
  callbacks: Callbacks,
  named: { token: string | undefined; command: CommandRequest; prefer: string | undefined },
  pass: () => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  const { token, command, prefer } = named;
  if (token === undefined) return pass();
  const { requestId, caller, target } = command;
  const projectId = namedProjectOf(command);
  const added = {
    request_id: requestId,
    call: target.id,
    project_ids: projectId === undefined ? [] : [projectId],
    is_queued: asksForLine(target.call, prefer),
    awaits_branch: isReadyAwaited(prefer),
    task_token: seal(token, tokenSeal(await queueKey(), inLife(caller.generation, requestId))),
  };
  await callbacks.add(added, clock.now()).catch((cause: unknown) => {
    const detail = 'The bridge could not keep the callback, so it sent nothing. Ask again.';
    throw new Problem('internal', { detail, cause, provesNoWork: true });
  });
  /** A note that is lost costs time: the worker then finds the end in the records. */
  const note = (found: Partial<Callback>) =>
    callbacks.change(requestId, { ...found, noted_until_ms: undefined }).catch((error: unknown) => {
      telemetry.log('warn', 'callback.not_noted', { request_id: requestId, reason: toError(error).name });
    });
  try {
    const answer = await pass();
    return { ...answer, recorded: Promise.all([note(noteOf(answer)), answer.recorded]).then(() => {}) };
  } catch (thrown) {
    await note(noteOfProblem(thrown));
    throw thrown;
  }
}

/** A command that has started nothing has ended with its answer. */
function noteOf({ status, command }: ApiAnswer): Partial<Callback> {
  if (command !== undefined)
    return { command_id: command.id, project_ids: [...command.projectIds], is_queued: command.isQueued };
  if (status < 300) return { outcome: 'succeeded' };
  const reason = `The upstream answered with status ${status}.`;
  return { outcome: provesNoWork(status) ? 'refused' : 'unknown', reason };
}

/** The text of a problem has no value of the request in it. */
function noteOfProblem(thrown: unknown): Partial<Callback> {
  if (!(thrown instanceof Problem)) return { outcome: 'unknown', reason: 'The bridge failed.' };
  const { type, detail: reason, members } = thrown;
  // The first request with the key was carried out, and only its answer was not kept.
  if (type === 'secret-already-issued' && members['operation_ids'] !== undefined)
    return { command_id: String(members['first_request_id']), project_ids: [String(members['project_id'])] };
  if (type === 'secret-already-issued') return { outcome: 'succeeded' };
  return { outcome: thrown.provesNoWork && type !== 'outcome-unknown' ? 'refused' : 'unknown', reason };
}
