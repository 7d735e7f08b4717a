/** Describes a command that waits in line: its form in the table, its states, and how it gets from one to the next. */

import * as z from 'zod';
import { isoTimeOf } from '../../core/time/timestamp.ts';

/**
 * A command is `queued`, then `sent` while the upstream is asked. `running` means that the upstream accepted it and that
 * its operations have not all ended, as its record says (`command-standing.ts`). All other states are final.
 */
export const COMMAND_STATES = [
  'queued',
  'sent',
  'running',
  'succeeded',
  'failed',
  'refused',
  'expired',
  'cancelled',
  'unknown',
] as const;

export type CommandState = (typeof COMMAND_STATES)[number];

const queuedAnswer = z.object({
  status: z.number().int(),
  content_type: z.string().optional(),
  /** The body is sealed. It is absent when it was too large to be kept. */
  body: z.string().optional(),
});

export const queuedCommand = z.object({
  account_id: z.string(),
  /** This is the id of the request. Audit, events and log lines name the command by it. */
  command_id: z.string(),
  project_id: z.string(),
  client_id: z.string(),
  /** The call has this id in the table of calls or in the configuration. */
  call: z.string(),
  /** The ids of the path stand under their names there. */
  ids: z.record(z.string(), z.string()),
  state: z.enum(COMMAND_STATES),
  /** Each write raises it by one and compares it, so that no two processes take the same step. */
  revision: z.number().int().positive(),
  /** ISO 8601, by our clock. */
  accepted_at: z.string(),
  /** The command is not sent later than this, in milliseconds since the epoch by our clock. */
  deadline_at_ms: z.number(),
  /** W3C Trace Context of the caller's request. */
  traceparent: z.string().optional(),
  /** Query and body are sealed. They are deleted when the command leaves the line. */
  request: z.string().optional(),
  /** The process that sends the command has until then; if it has not reported by then, it is dead. */
  sent_until_ms: z.number().optional(),
  /** The command started these operations. */
  operation_ids: z.array(z.string()).optional(),
  answer: queuedAnswer.optional(),
  /** A sentence says why there is no answer of the upstream. */
  reason: z.string().optional(),
  /** ISO 8601: the time at which the upstream answered, or at which it was decided that the command is not sent. */
  left_line_at: z.string().optional(),
});

export type QueuedCommand = Readonly<z.output<typeof queuedCommand>>;
export type QueuedAnswer = Readonly<z.output<typeof queuedAnswer>>;

/** The sender asks the upstream within half of this time, and needs the rest to record the answer. */
export const SENDING_MS_MAX = 60_000;

const WAITING: ReadonlySet<CommandState> = new Set(['queued', 'sent']);

/** Returns true while the command has its place in the line of its project. */
export function isInLine({ state }: Pick<QueuedCommand, 'state'>): boolean {
  return WAITING.has(state);
}

/** The process that writes this is the only one that sends the command. */
export function beginSending(command: QueuedCommand, nowMs: number): QueuedCommand {
  return { ...changed(command), state: 'sent', sent_until_ms: nowMs + SENDING_MS_MAX };
}

/** The upstream did no work, so the command keeps its place in line and may be sent again. */
export function returnToLine(command: QueuedCommand): QueuedCommand {
  const { sent_until_ms: _over, ...rest } = changed(command);
  return { ...rest, state: 'queued' };
}

export interface CommandEnd {
  readonly state: Exclude<CommandState, 'queued' | 'sent'>;
  readonly answer?: QueuedAnswer | undefined;
  readonly operation_ids?: readonly string[] | undefined;
  readonly reason?: string | undefined;
}

/** The command leaves the line for good. What it would have sent is deleted. */
export function leaveLine(
  command: QueuedCommand,
  { state, answer, operation_ids, reason }: CommandEnd,
  nowMs: number,
): QueuedCommand {
  const { request: _request, sent_until_ms: _over, ...rest } = changed(command);
  return {
    ...rest,
    state,
    left_line_at: isoTimeOf(nowMs),
    ...(answer && { answer }),
    ...(operation_ids && { operation_ids: [...operation_ids] }),
    ...(reason !== undefined && { reason }),
  };
}

function changed(command: QueuedCommand): QueuedCommand {
  return { ...command, revision: command.revision + 1 };
}
