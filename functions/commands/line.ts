/**
 * Decides what to do with the first command of a line, from its item alone, and writes the changes of a line and of
 * its commands. Each change is a compare-and-set, and each may be repeated after a crash.
 */

import { type QueueStore, updateLine } from '../../shared/commands/queue-store.ts';
import {
  type CommandEnd,
  hasLeftLine,
  type LineEntry,
  leaveLine,
  lineWithout,
  type ProjectLine,
  type QueuedCommand,
} from '../../shared/commands/queued-command.ts';
import type { CommandAccount } from '../../shared/commands/send-command.ts';
import { recordCommandEnd, recordCommandStart } from '../../shared/protocol/record-command.ts';
import type { CommandRecord } from '../../shared/records/command-record.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';

export interface LineDeps {
  readonly queue: QueueStore;
  readonly account: CommandAccount;
  /** Returns true while nothing may be sent for the account. */
  readonly isPaused: () => boolean;
  /** Returns which life of the account is served now. What was sealed in an earlier one cannot be opened any more. */
  readonly generation: () => number | undefined;
  /** Resolves to undefined when the command has started no operation. */
  readonly readRecord: (projectId: string, commandId: string) => Promise<CommandRecord | undefined>;
  /** Takes a permit of the account's rate limit and resolves to 0, or takes none and says for how long there is none. */
  readonly admit: (clientId: string) => Promise<number>;
  /** Asks the poller to read the project soon. */
  readonly wishForReading: (projectId: string) => Promise<void>;
  /** The key of the queue opens what a command sends, and seals what the upstream answers. */
  readonly queueKey: () => Promise<Secret>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export type LineWait =
  /** The line is looked at again when an operation or a freeze ends, or when another process asks for it. */
  | { readonly kind: 'waiting' }
  /** The rate limit or the upstream asks for this pause, whose end wakes nothing by itself. */
  | { readonly kind: 'paused'; readonly pauseMs: number };

export const WAITING: LineWait = { kind: 'waiting' };

/** What is due for the first command of a line. */
export type LineStep =
  /** The command may be sent, if nothing holds the project. */
  | 'send'
  /** Another process is sending the command, and has time left. */
  | 'busy'
  /** The process that was sending the command is dead, and it is unknown how far it came. */
  | 'lost'
  /** The deadline of the command has passed before it was sent. */
  | 'expire'
  /** The command has left the line, and only its entry has to go. */
  | 'remove';

export function decideLineStep(command: QueuedCommand, nowMs: number): LineStep {
  const { state, deadline_at_ms, sent_until_ms = 0 } = command;
  if (state === 'sent') return nowMs < sent_until_ms ? 'busy' : 'lost';
  if (state !== 'queued') return 'remove';
  return nowMs < deadline_at_ms ? 'send' : 'expire';
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
export async function removeEntry(
  deps: LineDeps,
  command: QueuedCommand,
  lineId = command.project_id,
): Promise<void> {
  const { project_id, command_id, client_id, call, traceparent, state, operation_ids } = command;
  const startedIds = operation_ids ?? [];
  const named = { project_id, request_id: command_id, client_id, call };
  const traced = { ...named, ...(traceparent !== undefined && { traceparent }) };
  const { recording } = deps.account;
  // The end of a running command is recorded with the ends of its operations, by the record that this makes sure of.
  if (state === 'running') await recordCommandStart(recording, traced, startedIds);
  else if (hasLeftLine(state)) await recordCommandEnd(recording, traced, state);
  await updateLine(deps.queue, lineId, (line) => lineWithout(line, command_id, startedIds));
}

/** The item of an entry is gone, or this version cannot read it. It must not hold the commands behind it. */
export async function dropEntry(
  { queue, telemetry }: LineDeps,
  { project_id }: ProjectLine,
  { command_id }: LineEntry,
): Promise<void> {
  telemetry.measure('CommandsUnworkable', 1);
  telemetry.log('error', 'command.unreadable', { project_id, command_id });
  await updateLine(queue, project_id, (line) => lineWithout(line, command_id));
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
