/** Decides how far a queued command is, from its own item and from the record of the operations that it started. */

import type { CommandRecord } from '../../core/records/command-record.ts';
import type { CommandState, QueuedCommand } from './queued-command.ts';

export interface CommandStanding {
  readonly state: CommandState;
  /** A sentence, when the state alone does not say why. */
  readonly reason?: string | undefined;
}

const INCOMPLETE =
  'Its operations had not all ended when the time for them was over; the event Command Settled names those that are missing.';

/** `record` is undefined when the command has started no operation. */
export function standingOf(command: QueuedCommand, record: CommandRecord | undefined): CommandStanding {
  const { state, reason } = command;
  const outcome = record?.entries.at(-1)?.outcome;
  if (state !== 'running' || outcome === undefined) return { state, reason };
  if (outcome === 'incomplete') return { state: 'failed', reason: INCOMPLETE };
  return { state: outcome, reason };
}

const UNSETTLED: ReadonlySet<CommandState> = new Set(['queued', 'sent', 'running']);

/** Returns true when nothing more will become of the command. */
export function hasSettled({ state }: Pick<CommandStanding, 'state'>): boolean {
  return !UNSETTLED.has(state);
}
