/** Decides what to do with the first command of a line, from its item alone. */

import type { QueuedCommand } from '../../../shared/commands/queue/queued-command.ts';

export type LineStep =
  /** It may be sent, if nothing holds the project. */
  | 'send'
  /** Another process is sending it, and has time left. */
  | 'busy'
  /** The process that was sending it is dead, and it is unknown how far it came. */
  | 'lost'
  /** Its deadline has passed before it was sent. */
  | 'expire'
  /** It has left the line, and only its entry has to go. */
  | 'remove';

export function decideLineStep(command: QueuedCommand, nowMs: number): LineStep {
  const { state, deadline_at_ms, sent_until_ms = 0 } = command;
  if (state === 'sent') return nowMs < sent_until_ms ? 'busy' : 'lost';
  if (state !== 'queued') return 'remove';
  return nowMs < deadline_at_ms ? 'send' : 'expire';
}
