/**
 * Sends a command for a caller. It is passed on once, and the operations that it started are recorded at once, while the
 * caller does what else has to be done before the answer leaves.
 */

import type { RecordCommandDeps } from '../protocol/record-command.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { CallDeps } from '../upstream/outgoing-request.ts';
import type { CommandRequest } from './command-request.ts';
import { forwardCall, type Waiting } from './forward-call.ts';
import { findLockHolders, type LockReaders, type OpenWorkFinder } from './lock-holders.ts';
import { recordStarted } from './record-started.ts';
import { type CommandOutcome, type SendOnceDeps, type Sent, sendOnce } from './send-once.ts';

/** This is one account of the upstream as commands reach it. */
export interface CommandAccount {
  readonly upstream: CallDeps;
  /** This finder knows the operations that may hold the lock of a project. */
  readonly work: OpenWorkFinder;
  /** These dependencies record the operations that a command started, and publish them. */
  readonly recording: RecordCommandDeps;
}

/** A refusal names at most this number of operations that hold the lock. A project has a few at a time. */
const LOCK_HOLDERS_MAX = 20;

/**
 * Everything that can become of a command is an outcome, so that a caller on HTTP and a worker on a queue can each do
 * their own with it. Rejects only when a secret, or the item of the Idempotency-Key, cannot be read.
 */
export function sendCommand(
  deps: SendOnceDeps,
  account: CommandAccount,
  request: CommandRequest,
  waiting: Waiting,
): Promise<CommandOutcome> {
  return sendOnce(deps, request, () => sendUnkeyed(deps.telemetry, account, request, waiting));
}

/** The same without a look at the Idempotency-Key: the caller makes sure that the command is sent once. */
export async function sendUnkeyed(
  telemetry: Telemetry,
  { upstream, work, recording }: CommandAccount,
  request: CommandRequest,
  waiting: Waiting,
): Promise<Sent> {
  const result = await forwardCall({ upstream, telemetry }, request, waiting);
  if (result.kind === 'unanswered') return result;
  const { status } = result.answer;
  if (status === 423) return { ...result, lockedBy: await lockHolders({ work, recording }, request) };
  if (status >= 300) return result;
  return { ...result, ...recordStarted({ recording, telemetry }, request, result.answer) };
}

/**
 * Returns the ids of the operations that hold the project, as far as the bridge knows them. It returns none when the
 * table does not answer.
 */
async function lockHolders(readers: LockReaders, { ids }: CommandRequest): Promise<readonly string[]> {
  const projectId = ids['project_id'];
  if (projectId === undefined) return [];
  const holders = await findLockHolders(readers, projectId).catch(() => []);
  return holders.slice(0, LOCK_HOLDERS_MAX);
}
