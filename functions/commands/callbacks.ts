/**
 * Tells waiting workflows how their commands have ended, and once a minute that they go on. What is told is decided
 * from what is stored, so every process that looks tells the same.
 */

import { inLife, unseal } from '../../shared/callers/seal.ts';
import {
  type Callback,
  type Callbacks,
  DELIVERED_WITHIN_MS,
  ENDED_WITHIN_MS,
  tokenSeal,
} from '../../shared/commands/callbacks.ts';
import { hasSettled, type QueuedCommand, standingOf } from '../../shared/commands/queued-command.ts';
import type { CommandRecord } from '../../shared/records/command-record.ts';
import type { BranchRecord } from '../../shared/records/journal-record.ts';
import { MINUTE_MS } from '../../shared/records/time.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { branchKey } from '../../shared/store/keys.ts';
import { unlessUnreadable } from '../../shared/store/unreadable.ts';
import type { LineDeps } from './line.ts';
import type { TaskMessage, WaitingTasks } from './waiting-tasks.ts';

export interface CallbackDeps extends LineDeps {
  readonly callbacks: Callbacks;
  readonly tasks: WaitingTasks;
}

/** What the table says of the command. */
interface Found {
  /** It is undefined when the command was sent at once. */
  readonly queued: QueuedCommand | undefined;
  readonly records: readonly CommandRecord[];
  /** It is undefined when the command is not known to create a branch. */
  readonly branchId?: string | undefined;
  /** It is undefined when nobody waits for the branch, or when nothing derives from its creation yet. */
  readonly branch?: BranchRecord | undefined;
}

/** The outcome is one of the event Command Settled. */
type End = Pick<Callback, 'reason'> & { readonly outcome: string };

const NOT_SEEN: End = {
  outcome: 'unknown',
  reason: 'The process that sent it ended before it saw an answer. The command may have been carried out.',
};
const EXPIRED: End = { outcome: 'expired', reason: 'Its deadline passed before it could be sent.' };
const NO_BRANCH: End = {
  outcome: 'failed',
  reason: 'An operation of the creation did not end well, so the branch will not be usable.',
};
const NO_END: End = { outcome: 'unknown', reason: 'Its end is not known after three days.' };

/** Returns undefined while the command goes on. */
function decideEnd(callback: Callback, found: Found, nowMs: number): End | undefined {
  const { branch } = found;
  if (branch?.readiness === 'ready') return { outcome: 'succeeded' };
  if (branch?.readiness === 'failed') return NO_BRANCH;
  const end = decideCommandEnd(callback, found, nowMs);
  // Branch Ready follows its last operation by a moment.
  if (end !== undefined && (branch === undefined || end.outcome !== 'succeeded')) return end;
  return nowMs < Date.parse(callback.accepted_at) + ENDED_WITHIN_MS ? undefined : NO_END;
}

function decideCommandEnd(
  { outcome, reason, project_ids, noted_until_ms = Number.POSITIVE_INFINITY }: Callback,
  { queued, records }: Found,
  nowMs: number,
): End | undefined {
  if (outcome !== undefined) return { outcome, reason };
  // A crash has left it outside of its line, or the worker is about to take it out.
  if (queued?.state === 'queued' && nowMs >= queued.deadline_at_ms + MINUTE_MS) return EXPIRED;
  if (queued !== undefined) {
    const standing = standingOf(queued, records[0]);
    return hasSettled(standing) ? { outcome: standing.state, reason: standing.reason } : undefined;
  }
  if (records.length === 0) return nowMs < noted_until_ms ? undefined : NOT_SEEN;
  const outcomes = records.flatMap(({ entries }) => entries.at(-1)?.outcome ?? []);
  if (outcomes.length < Math.max(records.length, project_ids.length)) return undefined;
  return { outcome: outcomes.find((each) => each !== 'succeeded') ?? 'succeeded' };
}

/**
 * An output of Step Functions has at most 262,144 bytes and a cause 32,768 characters. An operation takes some 150 of them,
 * and usual commands start fewer than five.
 */
export const TOLD_OPERATIONS_MAX = 100;

/** The message has no text of the upstream and no secret, because everybody who may see the execution sees it. */
function messageOf(
  { account_id, command_id, call, project_ids }: Callback,
  { outcome, reason }: End,
  { records, branchId }: Found,
): TaskMessage {
  const operations = records.flatMap(({ entries }) => entries.at(-1)?.operations ?? []);
  const text = JSON.stringify({
    account_id,
    project_id: records[0]?.project_id ?? project_ids[0],
    command_id,
    call,
    outcome,
    reason,
    branch_id: branchId,
    operations: operations.slice(0, TOLD_OPERATIONS_MAX),
    operation_count: operations.length,
  });
  if (outcome === 'succeeded') return { output: text };
  return { failure: { error: `OperationsBridge.${outcome}`, cause: text } };
}

async function find(deps: CallbackDeps, callback: Callback): Promise<Found> {
  const { command_id, account_id, project_ids, is_queued, awaits_branch, outcome } = callback;
  const queued = is_queued ? await unlessUnreadable(deps.queue.readCommand(command_id)) : undefined;
  const isSent = outcome === undefined && (queued === undefined || queued.state === 'running');
  const read = isSent ? project_ids.map((projectId) => deps.readRecord(projectId, command_id)) : [];
  const records = (await Promise.all(read)).flatMap((record) => record ?? []);
  const [record] = records;
  // The end names the branch, and who waits for it needs it before.
  if (record === undefined || !(awaits_branch || records.every(({ is_settled }) => is_settled)))
    return { queued, records };
  const { store } = deps.account.recording;
  const operations = await store.readOperations(record.project_id, record.operation_ids);
  const branchId = [...operations.records.values()].find(({ started_with }) => started_with)?.branch_id;
  if (branchId === undefined || !awaits_branch) return { queued, records, branchId };
  const derived = await store.readDerived([branchKey(account_id, record.project_id, branchId)]);
  return { queued, records, branchId, branch: derived.records.find((each) => each.kind === 'branch') };
}

/** Rejects when the table does; the next look repeats everything. `isSweep` says that the task may get a sign of life. */
async function tend(deps: CallbackDeps, requestId: string, isSweep: boolean): Promise<void> {
  const { callbacks, clock } = deps;
  const callback = await unlessUnreadable(callbacks.read(requestId));
  if (callback?.callback_state !== 'waiting' || clock.now() < (callback.not_before_ms ?? 0)) return;
  const found = await find(deps, callback);
  const end = decideEnd(callback, found, clock.now());
  if (end === undefined && !isSweep) return;
  const seal = tokenSeal(await deps.queueKey(), inLife(deps.generation(), requestId));
  const token = unseal(callback.task_token ?? '', seal);
  const refusal =
    token === undefined
      ? { error: 'TokenUnreadable', isGone: false }
      : await deps.tasks.tell(token, end ? messageOf(callback, end, found) : {});
  if (refusal?.isGone)
    return callbacks.change(requestId, { callback_state: 'task_gone', trouble: refusal.error });
  if (refusal !== undefined) return noteTrouble(deps, callback, refusal.error);
  const isOver = { trouble: undefined, failed_count: undefined, not_before_ms: undefined };
  if (end !== undefined) await callbacks.change(requestId, { callback_state: 'delivered', ...isOver });
  else if (callback.trouble !== undefined) await callbacks.change(requestId, isOver);
}

/** A policy that was mended is noticed within the longest pause. */
const PAUSE_MS_MAX = 10 * MINUTE_MS;

async function noteTrouble(deps: CallbackDeps, callback: Callback, trouble: string): Promise<void> {
  const { callbacks, clock, telemetry } = deps;
  const { request_id, failed_count = 0, accepted_at } = callback;
  const isGivenUp =
    trouble === 'TokenUnreadable' || clock.now() >= Date.parse(accepted_at) + DELIVERED_WITHIN_MS;
  const name = isGivenUp ? 'callback.given_up' : 'callback.refused';
  telemetry.log(isGivenUp ? 'error' : 'warn', name, { request_id, reason: trouble, failed_count });
  if (isGivenUp || trouble === 'AccessDeniedException') telemetry.measure('CallbacksRefused', 1);
  const not_before_ms = clock.now() + Math.min(PAUSE_MS_MAX, MINUTE_MS * 2 ** failed_count);
  const next = { trouble, failed_count: failed_count + 1, not_before_ms };
  await callbacks.change(request_id, isGivenUp ? { callback_state: 'given_up', trouble } : next);
}

/** One callback that fails stops no other, and the next sweep repeats it. */
export async function tendCallback(deps: CallbackDeps, requestId: string, isSweep = false): Promise<void> {
  await tend(deps, requestId, isSweep).catch((error: unknown) => {
    deps.telemetry.log('error', 'callback.failed', { request_id: requestId, reason: toError(error).name });
  });
}

/** Each takes some reads and one call of Step Functions. */
const CALLBACKS_AT_ONCE = 8;

/** Those that are left when the time of the sweep is over wait for the next one, and the log says so. */
export async function tendCallbacks(deps: CallbackDeps, isOver: () => boolean): Promise<void> {
  let leftCount = 0;
  await forEachConcurrently(await deps.callbacks.findWaiting(), CALLBACKS_AT_ONCE, async (requestId) => {
    if (isOver()) leftCount += 1;
    else await tendCallback(deps, requestId, true);
  });
  if (leftCount > 0) deps.telemetry.log('warn', 'callbacks.unfinished', { callback_count: leftCount });
}
