/**
 * Sends a command for a caller who assumes that a command is done when it is answered. It waits until nothing holds
 * the project, sends the command, and answers when the operations that the command has started have ended. All of
 * these waits take one place of the caller.
 */

import { findLockHolders, operationsInAnswer, sendUnkeyed } from '../../../shared/commands/send-command.ts';
import {
  type CommandOutcome,
  type SendOnceDeps,
  type Sent,
  sendOnce,
} from '../../../shared/commands/send-once.ts';
import type { SettlementOutcome } from '../../../shared/records/journal-entries.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type CommandRequest, namedProjectOf } from '../../../shared/upstream/forward.ts';
import type { UpstreamAccount } from '../api-ports.ts';
import { refuseFor } from '../serving/fence.ts';
import type { ApiRequest } from '../serving/route.ts';
import {
  namedWaitMs,
  type PatientCallers,
  type WaitingPlace,
  waitFor,
  waitingPlace,
} from '../serving/waiting.ts';

export interface SettleDeps extends SendOnceDeps {
  readonly patient: PatientCallers;
  readonly clock: Clock;
}

/** API Gateway gives up after 30 s, and the answer must leave before. */
export const SETTLE_MS_MAX = 25_000;

/** A request to the upstream may take ten seconds, so it leaves this long after the beginning at the latest. */
export const SETTLE_LOCK_MS_MAX = 20_000;

export interface SettledCommand {
  readonly outcome: CommandOutcome;
  /** The address of the command's record. It is undefined when all of its operations have ended well. */
  readonly askAt: string | undefined;
}

/** `Prefer: wait=N` shortens the time for all waits together. Rejects as `sendCommand` does, and with `Problem` `rate-limited`. */
export async function settleCommand(
  deps: SettleDeps,
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
    const outcome = await sendOnce(deps, command, () => send(way, command, lock));
    // The wait for the end reads the record.
    if (outcome.kind === 'answered') await outcome.recorded;
    const end = { untilMs: beganMs + wholeMs, signal };
    return { outcome, askAt: await addressOfOpenEnd(way, { command, outcome }, end) };
  } finally {
    await place.giveBack();
  }
}

interface Way {
  readonly deps: SettleDeps;
  readonly account: UpstreamAccount;
  readonly place: WaitingPlace;
}

async function untilUnlocked(
  { deps, account, place }: Way,
  command: CommandRequest,
  lock: Patience,
): Promise<void> {
  const projectId = namedProjectOf(command);
  if (projectId !== undefined) await awaitLockRelease({ account, clock: deps.clock, place }, projectId, lock);
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
    mayRepeat: async (restMs) =>
      restMs > 0 &&
      (await account.fairShare.admit(command.caller.client_id, { forMs: restMs, signal: lock.signal })) === 0,
  });
}

/** Resolves to undefined when nothing is left to ask for. */
async function addressOfOpenEnd(
  { deps, account, place }: Way,
  { command, outcome }: { readonly command: CommandRequest; readonly outcome: CommandOutcome },
  patience: Patience,
): Promise<string | undefined> {
  const started = startedCommand(command, outcome);
  if (started === undefined) return undefined;
  const ends = await awaitEnd({ queue: account.queue, clock: deps.clock, place }, started, patience);
  const open = ends.find(({ state }) => state !== 'succeeded');
  if (open === undefined) return undefined;
  noteOpenEnd(deps, command, open);
  return `/bridge/v1/projects/${open.projectId}/commands/${started.id}`;
}

function noteOpenEnd(
  { telemetry }: SettleDeps,
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

interface LockReleaseDeps {
  readonly account: UpstreamAccount;
  readonly clock: Clock;
  readonly place: WaitingPlace;
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
  { account, clock, place }: LockReleaseDeps,
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
export interface StartedCommand {
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

interface CommandEndDeps {
  readonly queue: Pick<UpstreamAccount['queue'], 'readRecord'>;
  readonly clock: Clock;
  readonly place: WaitingPlace;
}

/** `unsettled`: some operations have not ended, or are not recorded yet. */
type EndState = SettlementOutcome | 'unsettled';

interface CommandEndSeen {
  readonly projectId: string;
  readonly state: EndState;
}

/** Resolves to the ends when all are there, when the time is over, or at once when the caller has no free place. */
async function awaitEnd(
  { queue, clock, place }: CommandEndDeps,
  { id, projectIds }: StartedCommand,
  { untilMs, signal }: Patience,
): Promise<readonly CommandEndSeen[]> {
  const read = () => Promise.all(projectIds.map((projectId) => readEnd(queue, projectId, id)));
  const isDone = (ends: readonly CommandEndSeen[]) => ends.every(({ state }) => state !== 'unsettled');
  const waitMs = untilMs - clock.now();
  return waitFor({ read, isDone, waitMs, clock, signal, beginWait: () => place.beginWait() });
}

/** The command is done, so a table that does not answer must not turn its answer into a failure. */
async function readEnd(
  queue: CommandEndDeps['queue'],
  projectId: string,
  requestId: string,
): Promise<CommandEndSeen> {
  const record = await queue.readRecord(projectId, requestId).catch(() => undefined);
  return { projectId, state: record?.entries.at(-1)?.outcome ?? 'unsettled' };
}
