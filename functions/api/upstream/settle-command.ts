/**
 * Sends a command for a caller who assumes that a command is done when it is answered. It waits until nothing holds the
 * project, sends the command, and answers when the operations that the command has started have ended.
 */

import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { sendUnkeyed } from '../../../shared/commands/send-command.ts';
import {
  type CommandOutcome,
  type SendOnceDeps,
  type Sent,
  sendOnce,
} from '../../../shared/commands/send-once.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { refuseFor } from '../serving/allowance.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { namedWaitMs } from '../serving/prefer-wait.ts';
import type { ApiRequest } from '../serving/route.ts';
import { awaitEnd, type CommandEndSeen, startedCommand } from './await-end.ts';
import { awaitLockRelease, lockedProjectOf, type Patience } from './await-lock.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import { type WaitingPlace, waitingPlace } from './waiting-place.ts';

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
  const projectId = lockedProjectOf(command);
  if (projectId !== undefined) await awaitLockRelease({ account, clock: deps.clock, place }, projectId, lock);
}

/** Waits for a permit as for a lock. Throws `Problem` `rate-limited` when there is none in time, or no place to wait in. */
async function takePermit(
  { deps: { clock }, account, place }: Way,
  { caller }: CommandRequest,
  { untilMs, signal }: Patience,
): Promise<void> {
  for (;;) {
    const delayMs = await account.fairShare.admit(caller.client_id);
    if (delayMs <= 0) return;
    if (clock.now() + delayMs > untilMs || !(await place.take())) refuseFor(delayMs);
    await clock.sleep(delayMs, signal);
  }
}

/** A lock that the bridge has not recorded shows itself by a 423. The poller then reads the project, and the rest is as before. */
function send(way: Way, command: CommandRequest, lock: Patience): Promise<Sent> {
  const { deps, account, place } = way;
  const projectId = lockedProjectOf(command);
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
      restMs > 0 && (await account.fairShare.admit(command.caller.client_id, restMs)) === 0,
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
  return `/bridge/v1/projects/${open.projectId}/commands/${started.requestId}`;
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
