/** Waits until the operations of a command have ended, as its records in the table say. */

import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { operationsInAnswer } from '../../../shared/commands/operations-in-answer.ts';
import type { CommandOutcome } from '../../../shared/commands/send-once.ts';
import type { SettlementOutcome } from '../../../shared/core/journal/journal-entries.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { waitFor } from '../serving/wait-for.ts';
import { lockedProjectOf, type Patience } from './await-lock.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import type { WaitingPlace } from './waiting-place.ts';

/** A command has a record in each project in which it has started operations. */
export interface StartedCommand {
  /** The record has the id of the request that was sent, which is another one than that of a repetition. */
  readonly requestId: string;
  readonly projectIds: readonly string[];
}

/** Returns undefined when the command has started no operation, so that there is nothing to wait for. */
export function startedCommand(command: CommandRequest, outcome: CommandOutcome): StartedCommand | undefined {
  if (outcome.kind !== 'answered' && outcome.kind !== 'replayed') return undefined;
  const { status, body } = outcome.answer;
  if (status >= 300) return undefined;
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const { byProject } = operationsInAnswer({ status, headers: {}, body: bytes }, lockedProjectOf(command));
  const requestId = outcome.kind === 'replayed' ? outcome.first.request_id : command.requestId;
  return byProject.size === 0 ? undefined : { requestId, projectIds: [...byProject.keys()] };
}

export interface CommandEndDeps {
  readonly queue: Pick<UpstreamAccount['queue'], 'readRecord'>;
  readonly clock: Clock;
  readonly place: WaitingPlace;
}

/** `unsettled`: some operations have not ended, or are not recorded yet. */
type EndState = SettlementOutcome | 'unsettled';

export interface CommandEndSeen {
  readonly projectId: string;
  readonly state: EndState;
}

/** Resolves to the ends when all are there, when the time is over, or at once when the caller has no free place. */
export async function awaitEnd(
  { queue, clock, place }: CommandEndDeps,
  { requestId, projectIds }: StartedCommand,
  { untilMs, signal }: Patience,
): Promise<readonly CommandEndSeen[]> {
  const read = () => Promise.all(projectIds.map((projectId) => readEnd(queue, projectId, requestId)));
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
