/** Works on the line of one project: takes command after command, until the line is empty or has to wait. */

import type { LineEntry, ProjectLine } from '../../../shared/commands/queue/project-line.ts';
import { nextEntry } from '../../../shared/commands/queue/project-line.ts';
import type { QueuedCommand } from '../../../shared/commands/queue/queued-command.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import { changeLine, endCommand, removeEntry } from './line-changes.ts';
import type { LineDeps } from './line-deps.ts';
import { decideLineStep } from './line-step.ts';
import { type LineWait, WAITING } from './line-wait.ts';
import { sendNext } from './send-next.ts';

export type LineOutcome =
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
  if (command === undefined) return dropEntry(deps, line, entry);
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

/** The item of an entry is gone, or this version cannot read it. It must not hold the commands behind it. */
async function dropEntry(
  { queue, telemetry }: LineDeps,
  { project_id }: ProjectLine,
  { command_id }: LineEntry,
): Promise<'goes on'> {
  telemetry.measure('CommandsUnworkable', 1);
  telemetry.log('error', 'command.unreadable', { project_id, command_id });
  await changeLine(queue, project_id, { kind: 'without', commandId: command_id });
  return 'goes on';
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
