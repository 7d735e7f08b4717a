/**
 * Describes a command that waits in line: its form in the table, its states, in which order the commands of one
 * project are sent, and what the first of them waits for.
 */

import * as z from 'zod';
import type { CommandRecord } from '../records/command-record.ts';
import { isoTimeOf } from '../records/time.ts';

export const accountFreeze = z.object({
  /** A lifted freeze stays in the table and holds nothing. */
  is_frozen: z.boolean(),
  /** A person wrote it for people. */
  reason: z.string(),
  /** The caller who froze the account or lifted the freeze. */
  client_id: z.string(),
  /** ISO 8601, by our clock. */
  changed_at: z.string(),
});

export type AccountFreeze = Readonly<z.output<typeof accountFreeze>>;

/**
 * A command may be `awaiting_approval` first, until a person decides. It is `queued`, then `sent` while the upstream is asked. `running` means that the upstream accepted it and that
 * its operations have not all ended, as its record says (`command-standing.ts`). All other states are final.
 */
export const COMMAND_STATES = [
  'awaiting_approval',
  'queued',
  'sent',
  'running',
  'succeeded',
  'failed',
  'incomplete',
  'refused',
  'expired',
  'cancelled',
  'denied',
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
  /** It needs the approval of a person. `announced`: people were told that it waits for one of them. */
  approval: z.enum(['asked', 'announced']).optional(),
  /** A person reads this, such as `DELETE /projects/shop-1`. */
  request_line: z.string().optional(),
  /** This caller approved or denied it. */
  decided_by: z.string().optional(),
  /** ISO 8601, by our clock. */
  decided_at: z.string().optional(),
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

export interface Decision {
  readonly isApproved: boolean;
  readonly decided_by: string;
  /** A person wrote it, for the one who asked. */
  readonly reason?: string | undefined;
  /** An approved command is not sent later than this. */
  readonly deadline_at_ms: number;
}

/** Returns the command after a person has decided. It joins the line of its project only when it was approved. */
export function decide(command: QueuedCommand, decision: Decision, nowMs: number): QueuedCommand {
  const { isApproved, decided_by, reason, deadline_at_ms } = decision;
  const decided = { ...command, decided_by, decided_at: isoTimeOf(nowMs) };
  return isApproved
    ? { ...changed(decided), state: 'queued', deadline_at_ms }
    : leaveLine(decided, { state: 'denied', reason }, nowMs);
}

/** Returns true when the command is not sent any more. */
export function hasLeftLine(state: CommandState): state is CommandEnd['state'] {
  return state !== 'awaiting_approval' && !WAITING.has(state);
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
  readonly state: Exclude<CommandState, 'awaiting_approval' | 'queued' | 'sent'>;
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
  return { state: outcome, reason: outcome === 'incomplete' ? INCOMPLETE : reason };
}

const UNSETTLED: ReadonlySet<CommandState> = new Set(['awaiting_approval', 'queued', 'sent', 'running']);

/** Returns true when nothing more will become of the command. */
export function hasSettled({ state }: CommandStanding): boolean {
  return !UNSETTLED.has(state);
}

const lineEntry = z.object({
  command_id: z.string(),
  deadline_at_ms: z.number(),
  /** An entry of the second edition has none, and counts for no caller. */
  client_id: z.string().optional(),
});

export const projectLine = z.object({
  account_id: z.string(),
  project_id: z.string(),
  /** Each write raises it by one and compares it. */
  revision: z.number().int().nonnegative(),
  /** The commands are sent in this order. */
  entries: z.array(lineEntry),
  /** These operations held the project when a command was last to be sent. */
  waiting_for: z.array(z.string()),
  /** The upstream is not asked before this time, in milliseconds since the epoch by our clock. */
  not_before_ms: z.number(),
});

export type ProjectLine = Readonly<z.output<typeof projectLine>>;
export type LineEntry = ProjectLine['entries'][number];

/** A script that queues more for one project than this has most likely lost control. The whole line is one item. */
export const LINE_ENTRIES_MAX = 100;

/** One caller may have this many of them, so that there is always a place for another caller. */
export const LINE_ENTRIES_OF_CALLER_MAX = LINE_ENTRIES_MAX / 2;

export function emptyLine(accountId: string, projectId: string): ProjectLine {
  return {
    account_id: accountId,
    project_id: projectId,
    revision: 0,
    entries: [],
    waiting_for: [],
    not_before_ms: 0,
  };
}

/** Returns how many entries of the line are the caller's. */
export function entryCountOf({ entries }: ProjectLine, clientId: string): number {
  return entries.filter(({ client_id }) => client_id === clientId).length;
}

/** Returns `full` or `part_full` at a bound, and undefined when the command is in the line already. */
export function lineWith(
  line: ProjectLine,
  { command_id, deadline_at_ms, client_id }: LineEntry & { readonly client_id: string },
): ProjectLine | 'full' | 'part_full' | undefined {
  if (line.entries.some((entry) => entry.command_id === command_id)) return undefined;
  if (line.entries.length >= LINE_ENTRIES_MAX) return 'full';
  if (entryCountOf(line, client_id) >= LINE_ENTRIES_OF_CALLER_MAX) return 'part_full';
  return changedLine(line, { entries: [...line.entries, { command_id, deadline_at_ms, client_id }] });
}

/**
 * Commands that wait for a person wait in a line of their own, under this name, which no project can have. Nothing in it is sent,
 * so it holds nobody's commands; it has the bounds of every line.
 */
export const APPROVALS_LINE = '~approvals';

/** A person who was asked on a Friday evening and has not decided by then is asked anew. */
export const APPROVAL_MS = 24 * 3_600_000;

/**
 * Returns the line without a command. The one behind it waits for the operations that the command has started. Returns undefined
 * when the command is not in the line.
 */
export function lineWithout(
  line: ProjectLine,
  commandId: string,
  startedIds: readonly string[] = [],
): ProjectLine | undefined {
  const entries = line.entries.filter((entry) => entry.command_id !== commandId);
  if (entries.length === line.entries.length) return undefined;
  const waiting_for = startedIds.length > 0 ? [...startedIds] : line.waiting_for;
  return changedLine(line, { entries, waiting_for });
}

export interface Hold {
  readonly waiting_for: readonly string[];
  readonly not_before_ms: number;
}

/** Returns undefined when the line waits for the same already, so that a look at a locked project writes nothing. */
export function lineHeldBy(line: ProjectLine, hold: Hold): ProjectLine | undefined {
  const isSame =
    line.not_before_ms === hold.not_before_ms &&
    line.waiting_for.length === hold.waiting_for.length &&
    hold.waiting_for.every((id) => line.waiting_for.includes(id));
  return isSame ? undefined : changedLine(line, { ...hold, waiting_for: [...hold.waiting_for] });
}

/** A command whose deadline has passed comes first, wherever it stands, because it only has to be taken out. */
export function nextEntry({ entries }: ProjectLine, nowMs: number): LineEntry | undefined {
  return entries.find(({ deadline_at_ms }) => deadline_at_ms <= nowMs) ?? entries[0];
}

function changedLine(line: ProjectLine, change: Partial<ProjectLine>): ProjectLine {
  return { ...line, ...change, revision: line.revision + 1 };
}
