/** Writes the changes of a line and of its commands. Each is a compare-and-set, and each may be repeated after a crash. */

import {
  type Hold,
  lineHeldBy,
  lineWithout,
  type ProjectLine,
} from '../../../shared/commands/queue/project-line.ts';
import type { QueueStore } from '../../../shared/commands/queue/queue-store.ts';
import {
  type CommandEnd,
  leaveLine,
  type QueuedCommand,
} from '../../../shared/commands/queue/queued-command.ts';
import { recordCommandStart } from '../../../shared/protocol/record-command.ts';
import { recordCommandEnd } from '../../../shared/protocol/record-command-end.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import type { LineDeps } from './line-deps.ts';

export type LineChange =
  | { readonly kind: 'without'; readonly commandId: string; readonly startedIds?: readonly string[] }
  | { readonly kind: 'held'; readonly hold: Hold };

/** Each conflict means that another process has changed the line, and callers append at most a hundred commands. */
const ATTEMPTS_MAX = 100;

export async function changeLine(queue: QueueStore, projectId: string, change: LineChange): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const next = changedLine(await queue.readLine(projectId), change);
    if (next === undefined || (await queue.changeLine(next)) === 'written') return;
  }
  throw new AppError('line_contended', `The line of ${projectId} changed ${ATTEMPTS_MAX} times in a row`);
}

function changedLine(line: ProjectLine, change: LineChange): ProjectLine | undefined {
  if (change.kind === 'held') return lineHeldBy(line, change.hold);
  return lineWithout(line, change.commandId, change.startedIds);
}

/** Does nothing when another process has taken a step with the command; then its next step is decided anew. */
export async function endCommand(deps: LineDeps, command: QueuedCommand, end: CommandEnd): Promise<void> {
  const { queue, clock } = deps;
  const ended = leaveLine(command, end, clock.now());
  if ((await queue.changeCommand(ended)) === 'conflict') return;
  noteEnd(deps, ended);
  await removeEntry(deps, ended);
}

/** The event is recorded before the entry goes: while the entry is there, a crash in between is repaired. */
export async function removeEntry(deps: LineDeps, command: QueuedCommand): Promise<void> {
  const { project_id, command_id, client_id, call, traceparent, state, operation_ids } = command;
  const startedIds = operation_ids ?? [];
  const named = { project_id, request_id: command_id, client_id, call };
  const traced = { ...named, ...(traceparent !== undefined && { traceparent }) };
  const { recording } = deps.account;
  // The end of a running command is recorded with the ends of its operations, by the record that this makes sure of.
  if (state === 'running') await recordCommandStart(recording, traced, startedIds);
  else if (state !== 'queued' && state !== 'sent') await recordCommandEnd(recording, traced, state);
  await changeLine(deps.queue, project_id, { kind: 'without', commandId: command_id, startedIds });
}

function noteEnd({ telemetry, clock }: LineDeps, command: QueuedCommand): void {
  const { account_id, project_id, command_id, call, state, accepted_at, traceparent } = command;
  telemetry.log('info', 'command.left_line', {
    account_id,
    project_id,
    command_id,
    call,
    state,
    waited_ms: clock.now() - Date.parse(accepted_at),
    traceparent,
  });
}
