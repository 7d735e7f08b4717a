/**
 * Works on the commands that wait for a person: tells people of a new one, puts an approved one into the line of its
 * project, and ends one that was denied or that nobody has decided on. Each step may be repeated after a crash.
 */

import { updateLine } from '../../shared/commands/queue-store.ts';
import {
  APPROVALS_LINE,
  type LineEntry,
  leaveLine,
  lineWith,
  type ProjectLine,
  type QueuedCommand,
} from '../../shared/commands/queued-command.ts';
import type { Wakes } from '../../shared/commands/wakes.ts';
import { type ApprovalEvent, approvalEvent } from '../../shared/events/approval-event.ts';
import { isoTimeOf } from '../../shared/records/time.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { AppError, toError } from '../../shared/runtime/errors.ts';
import { unlessUnreadable } from '../../shared/store/unreadable.ts';
import { dropEntry, type LineDeps, removeEntry } from './line.ts';

interface ApprovalPorts {
  readonly wakes: Wakes;
  readonly newId: () => string;
}

/** What is due for a command that waits for a person. */
type ApprovalStep =
  /** People have not been told of the command yet. */
  | 'announce'
  | 'wait'
  /** Nobody has decided in time. */
  | 'expire'
  /** The command was approved, and goes into the line of its project. */
  | 'join'
  /** The command is in the line of its project, or has ended. */
  | 'remove';

function decideApprovalStep(command: QueuedCommand, nowMs: number): ApprovalStep {
  const { state, approval, deadline_at_ms } = command;
  if (state === 'queued') return 'join';
  if (state !== 'awaiting_approval') return 'remove';
  if (nowMs >= deadline_at_ms) return 'expire';
  return approval === 'announced' ? 'wait' : 'announce';
}

const AT_ONCE = 10;

/** Looks at all of them, because a person decides on them in any order. One that fails holds up no other. */
export async function workApprovals(deps: LineDeps, ports: ApprovalPorts): Promise<void> {
  const line = await deps.queue.readLine(APPROVALS_LINE);
  await forEachConcurrently(line.entries, AT_ONCE, async (entry) => {
    try {
      await workApproval(deps, ports, { line, entry });
    } catch (error) {
      const { command_id } = entry;
      deps.telemetry.log('error', 'approval.failed', { command_id, reason: toError(error).name });
    }
  });
}

async function workApproval(
  deps: LineDeps,
  ports: ApprovalPorts,
  { line, entry }: { readonly line: ProjectLine; readonly entry: LineEntry },
): Promise<void> {
  const { queue, clock } = deps;
  const command = await unlessUnreadable(queue.readCommand(entry.command_id));
  if (command === undefined) return dropEntry(deps, line, entry);
  switch (decideApprovalStep(command, clock.now())) {
    case 'wait':
      return;
    case 'announce':
      await tell(deps, command, 'wanted');
      await queue.changeCommand({ ...command, approval: 'announced', revision: command.revision + 1 });
      return;
    case 'expire': {
      const reason = 'Nobody decided in time whether to approve it.';
      const ended = leaveLine(command, { state: 'expired', reason }, clock.now());
      if ((await queue.changeCommand(ended)) === 'written') await finish(deps, ended);
      return;
    }
    case 'join':
      return join(deps, ports, command);
    case 'remove':
      return finish(deps, command);
  }
}

/** While the line of its project is full, it waits here, and the next sweep tries again. */
async function join(deps: LineDeps, { wakes, newId }: ApprovalPorts, command: QueuedCommand): Promise<void> {
  const { account_id, project_id } = command;
  const joined = await updateLine(deps.queue, project_id, (line) => lineWith(line, command));
  if (joined === 'full' || joined === 'part_full') return;
  await wakes.send([{ account_id, project_id, id: newId() }]);
  await finish(deps, command);
}

async function finish(deps: LineDeps, command: QueuedCommand): Promise<void> {
  await tell(deps, command, stateToTell(command));
  await removeEntry(deps, command, APPROVALS_LINE);
}

function stateToTell({ state, decided_by }: QueuedCommand): 'approved' | 'denied' | 'withdrawn' | 'expired' {
  if (decided_by !== undefined) return state === 'denied' ? 'denied' : 'approved';
  return state === 'cancelled' ? 'withdrawn' : 'expired';
}

/** Rejects when the bus does not take the event, so that the next sweep repeats the step. */
async function tell(deps: LineDeps, command: QueuedCommand, state: ApprovalEvent['state']): Promise<void> {
  const { account_id, project_id, command_id, client_id, call, request_line } = command;
  const { decided_by, reason, deadline_at_ms } = command;
  const [outcome] = await deps.account.recording.bus.publish([
    approvalEvent({
      schema: 1,
      id: `${command_id}-${state}`,
      account_id,
      observed_at: isoTimeOf(deps.clock.now()),
      project_id,
      approval_id: command_id,
      client_id,
      call,
      ...(request_line !== undefined && { request: request_line }),
      state,
      ...(state === 'wanted' && { expires_at: isoTimeOf(deadline_at_ms) }),
      ...(decided_by !== undefined && { decided_by }),
      ...(reason !== undefined && { reason }),
    }),
  ]);
  if (outcome?.kind === 'retry') throw new AppError('bus_unavailable', 'The bus did not take the event');
}
