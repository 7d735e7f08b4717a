/**
 * Handles one invocation of the worker: it works on the lines that it was woken for, one project at a time, or wakes
 * all lines that are not empty.
 */

import type { PerAccount } from '../../shared/accounts/account-directory.ts';
import {
  APPROVALS_LINE,
  type LineEntry,
  nextEntry,
  type ProjectLine,
  type QueuedCommand,
} from '../../shared/commands/queued-command.ts';
import { groupOf, type Wakes } from '../../shared/commands/wakes.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { unlessUnreadable } from '../../shared/store/unreadable.ts';
import { workApprovals } from './approvals.ts';
import { type CallbackDeps, tendCallback, tendCallbacks } from './callbacks.ts';
import {
  decidePauseStep,
  type HandBack,
  type Invocation,
  readInvocation,
  type WakeMessage,
  type WakeTarget,
  WORK_MS_MAX,
} from './invocation.ts';
import {
  decideLineStep,
  dropEntry,
  endCommand,
  type LineDeps,
  type LineWait,
  removeEntry,
  WAITING,
} from './line.ts';
import { sendNext } from './send-next.ts';

type LineOutcome =
  | { readonly kind: 'empty' }
  /** There is more to do at once, and the time of this invocation is over. */
  | { readonly kind: 'unfinished' }
  | LineWait;

/** Returns true when it is too late to begin another step. */
export type IsOver = () => boolean;

/** A line has at most a hundred entries, and an entry needs two steps: to be sent, and to be removed. */
const STEPS_MAX = 250;

/** Rejects when the table does; the next wake repeats what was not finished. */
export async function workLine(deps: LineDeps, projectId: string, isOver: IsOver): Promise<LineOutcome> {
  for (let step = 0; step < STEPS_MAX && !isOver(); step++) {
    const line = await deps.queue.readLine(projectId);
    const entry = nextEntry(line, deps.clock.now());
    if (entry === undefined) return { kind: 'empty' };
    const next = await takeStep(deps, line, entry);
    if (next !== 'goes on') return next;
  }
  return { kind: 'unfinished' };
}

async function takeStep(deps: LineDeps, line: ProjectLine, entry: LineEntry): Promise<'goes on' | LineWait> {
  const { queue, clock } = deps;
  const command = await unlessUnreadable(queue.readCommand(entry.command_id));
  if (command === undefined) {
    await dropEntry(deps, line, entry);
    return 'goes on';
  }
  switch (decideLineStep(command, clock.now())) {
    case 'busy':
      return WAITING;
    case 'remove':
      await removeEntry(deps, command);
      return 'goes on';
    case 'expire':
      return expire(deps, command);
    case 'lost':
      return settleLost(deps, command);
    case 'send':
      return sendNext(deps, line, command);
  }
}

async function expire(deps: LineDeps, command: QueuedCommand): Promise<'goes on'> {
  const reason = 'Its deadline passed before it could be sent.';
  await endCommand(deps, command, { state: 'expired', reason });
  return 'goes on';
}

/** A success was seen if the command has a record; otherwise it is not known whether the command was carried out. */
async function settleLost(deps: LineDeps, command: QueuedCommand): Promise<'goes on'> {
  const record = await deps.readRecord(command.project_id, command.command_id);
  if (record !== undefined) {
    const { operation_ids } = record;
    const state = operation_ids.length > 0 ? 'running' : 'succeeded';
    await endCommand(deps, command, { state, operation_ids });
    return 'goes on';
  }
  const reason =
    'The process that sent it ended before it saw an answer. The command may have been carried out.';
  await endCommand(deps, command, { state: 'unknown', reason });
  return 'goes on';
}

export interface WorkerAccount {
  readonly line: LineDeps;
  /** It is undefined when the bridge ends no tasks of workflows. */
  readonly callbacks: CallbackDeps | undefined;
  /** Resolves when nothing is left to write for it. */
  idle(): Promise<void>;
}

/** The accounts are those of the configuration and of the table. */
export interface WorkerAccounts extends PerAccount<WorkerAccount> {
  /** Looks whether the accounts have changed. Does not reject. */
  refresh(): Promise<void>;
  /** Returns the ids of all accounts, as they were at the last refresh. */
  ids(): readonly string[];
  /** Resolves when nothing is left to write for any account, so that the process may be frozen. */
  idle(): Promise<void>;
}

export interface WorkerDeps {
  readonly accounts: WorkerAccounts;
  readonly wakes: Wakes;
  readonly handBack: HandBack;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

/** Lambda's partial batch response: the queue hands out these messages again, and they end in the dead-letter queue. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** More lines than this are woken by later sweeps; an account has at most 1,000 queued commands. */
export const SWEPT_LINES_MAX = 1_000;

/** A batch has messages of at most ten projects, which do not wait for each other. */
const PROJECTS_AT_ONCE = 10;

export async function work(deps: WorkerDeps, event: unknown): Promise<BatchResponse> {
  const invocation = readInvocation(event);
  await deps.accounts.refresh();
  try {
    if (invocation.kind === 'messages') return await workOnMessages(deps, invocation.messages);
    if (invocation.kind === 'bus_event') await workOnRelease(deps, invocation);
    else await sweep(deps);
    return { batchItemFailures: [] };
  } finally {
    await deps.accounts.idle();
  }
}

/** A message of a project says the same as every other one, so the project is worked on once for all of them. */
async function workOnMessages(deps: WorkerDeps, messages: readonly WakeMessage[]): Promise<BatchResponse> {
  const groups = Map.groupBy(messages, ({ target }) => (target ? groupOf(target) : undefined));
  const failures: { itemIdentifier: string }[] = [];
  const isOver = endOfWork(deps);
  await forEachConcurrently([...groups.values()], PROJECTS_AT_ONCE, async (group) => {
    const isDone = await workOnGroup(deps, group, isOver);
    if (!isDone) failures.push(...group.map(({ messageId }) => ({ itemIdentifier: messageId })));
  });
  return { batchItemFailures: failures };
}

/** Resolves to true when the messages have done what they can, so that the queue deletes them. */
async function workOnGroup(
  deps: WorkerDeps,
  group: readonly WakeMessage[],
  isOver: IsOver,
): Promise<boolean> {
  const target = group[0]?.target;
  if (target === undefined) {
    deps.telemetry.log('error', 'wake.unreadable', { message_count: group.length });
    return false;
  }
  try {
    const outcome = await workOn(deps, target, isOver);
    return outcome.kind === 'paused' ? await pauseGroup(deps, target, group, outcome.pauseMs) : true;
  } catch (error) {
    deps.telemetry.log('error', 'line.failed', { ...target, reason: toError(error).name });
    return false;
  }
}

/** Resolves to false when the queue keeps the messages for the end of the pause. */
async function pauseGroup(
  deps: WorkerDeps,
  target: WakeTarget,
  group: readonly WakeMessage[],
  pauseMs: number,
): Promise<boolean> {
  const receiveCount = Math.max(...group.map((message) => message.receiveCount));
  const step = decidePauseStep(pauseMs, receiveCount);
  if (step.kind === 'send_anew') await wakeAgain(deps, target);
  if (step.kind !== 'hand_back') return true;
  for (const { receiptHandle } of group) await deps.handBack(receiptHandle, step.forMs);
  return false;
}

/** An event of the bus has no message that could be handed back, so a pause sends one. */
async function workOnRelease(
  deps: WorkerDeps,
  { target, requestId }: Extract<Invocation, { kind: 'bus_event' }>,
): Promise<void> {
  const callbacks = deps.accounts.get(target.account_id)?.callbacks;
  if (callbacks !== undefined && requestId !== undefined) await tendCallback(callbacks, requestId);
  const outcome = await workOn(deps, target, endOfWork(deps));
  if (outcome.kind !== 'paused') return;
  if (decidePauseStep(outcome.pauseMs, undefined).kind === 'send_anew') await wakeAgain(deps, target);
}

/** An account that is not known here has no lines that could be worked on. */
async function workOn(deps: WorkerDeps, target: WakeTarget, isOver: IsOver): Promise<LineOutcome> {
  const account = deps.accounts.get(target.account_id);
  if (account === undefined) return { kind: 'empty' };
  if (target.project_id === APPROVALS_LINE) {
    await workApprovals(account.line, deps);
    return { kind: 'empty' };
  }
  const outcome = await workLine(account.line, target.project_id, isOver);
  if (outcome.kind === 'unfinished') await wakeAgain(deps, target);
  return outcome;
}

async function wakeAgain({ wakes, newId }: WorkerDeps, target: WakeTarget): Promise<void> {
  await wakes.send([{ ...target, id: newId() }]);
}

/** Wakes go through the queue, so that each line is worked on once at a time. One account that fails stops no other. */
async function sweep(deps: WorkerDeps): Promise<void> {
  const { accounts, wakes, clock, telemetry } = deps;
  const minute = Math.floor(clock.now() / 60_000);
  const isOver = endOfWork(deps);
  await forEachConcurrently(accounts.ids(), PROJECTS_AT_ONCE, async (account_id) => {
    try {
      const projectIds = (await accounts.get(account_id)?.line.queue.findLines(SWEPT_LINES_MAX)) ?? [];
      const woken = projectIds.map((project_id) => {
        return { account_id, project_id, id: `sweep-${minute}` };
      });
      if (woken.length > 0) await wakes.send(woken);
      const callbacks = accounts.get(account_id)?.callbacks;
      if (callbacks !== undefined) await tendCallbacks(callbacks, isOver);
    } catch (error) {
      telemetry.log('error', 'sweep.failed', { account_id, reason: toError(error).name });
    }
  });
}

/** Returns a function that says whether it is too late to begin another step, so that the invocation ends by itself. */
function endOfWork({ clock }: WorkerDeps): IsOver {
  const endsAtMs = clock.now() + WORK_MS_MAX;
  return () => clock.now() >= endsAtMs;
}
