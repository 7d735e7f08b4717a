/** Shows a queued command as the API answers with it. The answer of the upstream is shown to the caller who sent the command. */

import * as z from 'zod';
import type { Caller } from '../../../shared/callers/authorize.ts';
import { inLife } from '../../../shared/callers/seal.ts';
import { hasSettled, standingOf } from '../../../shared/commands/queue/command-standing.ts';
import type { ProjectLine } from '../../../shared/commands/queue/project-line.ts';
import { COMMAND_KEPT_MS } from '../../../shared/commands/queue/queue-store.ts';
import {
  COMMAND_STATES,
  isInLine,
  type QueuedCommand,
} from '../../../shared/commands/queue/queued-command.ts';
import { openAnswer } from '../../../shared/commands/queue/sealed-request.ts';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';

/** A command with what else the table says of it. */
export interface FoundCommand {
  readonly command: QueuedCommand;
  /** This is undefined until the command has started operations, or has ended. */
  readonly record: CommandRecord | undefined;
  /** This is undefined when the command is not in line, or its line was not read. */
  readonly line: ProjectLine | undefined;
}

export const commandAnswer = z.looseObject({
  command_id: z.string(),
  project_id: z.string(),
  call: z.string(),
  client_id: z.string(),
  state: z
    .enum(COMMAND_STATES)
    .describe(
      'queued and sent: it is in line. running: its operations have not all ended. All others are final; unknown means that no answer was seen, and that it is never sent again.',
    ),
  settled: z.boolean(),
  reason: z.string().optional().describe('Why it ended without an answer of the upstream.'),
  accepted_at: z.string(),
  deadline_at: z.string().describe('It is not sent later than this.'),
  left_line_at: z.string().optional(),
  commands_before: z.number().optional().describe('How many commands of the project are sent before it.'),
  waiting_for: z
    .array(z.string())
    .optional()
    .describe('The operations that hold the project, while it is first.'),
  operation_ids: z.array(z.string()),
  answer: z
    .object({ status: z.number(), content_type: z.string().optional(), body: z.string().optional() })
    .optional()
    .describe(
      "The upstream's answer, for a day and for the caller who sent the command, without connection strings and passwords, which can be asked for again.",
    ),
});

export const queuedAnswer = z.object({ command: commandAnswer });

export function commandView({ command, record, line }: FoundCommand): z.input<typeof commandAnswer> {
  const { command_id, project_id, call, client_id, accepted_at, deadline_at_ms, left_line_at } = command;
  const standing = standingOf(command, record);
  return {
    command_id,
    project_id,
    call,
    client_id,
    state: standing.state,
    settled: hasSettled(standing),
    reason: standing.reason,
    accepted_at,
    deadline_at: isoTimeOf(deadline_at_ms),
    left_line_at,
    ...(line && isInLine(command) && placeIn(line, command)),
    operation_ids: command.operation_ids ?? [],
  };
}

/** A command that is being accepted or removed is not in its line, and has no place to show. */
function placeIn({ entries, waiting_for }: ProjectLine, { command_id }: QueuedCommand) {
  const before = entries.findIndex((entry) => entry.command_id === command_id);
  if (before < 0) return {};
  return { commands_before: before, ...(before === 0 && { waiting_for }) };
}

export interface KeptAnswer {
  readonly status: number;
  readonly content_type?: string | undefined;
  /** This is undefined when the body was not kept, or can no longer be opened. */
  readonly body?: string | undefined;
}

/** Returns undefined for other callers, after a day, and when there was no answer. */
export function answerFor(
  { command_id, client_id, left_line_at, answer }: QueuedCommand,
  caller: Pick<Caller, 'client_id' | 'generation'>,
  queueKey: Secret,
  nowMs: number,
): KeptAnswer | undefined {
  if (answer === undefined || caller.client_id !== client_id) return undefined;
  if (nowMs - Date.parse(left_line_at ?? '') >= COMMAND_KEPT_MS) return undefined;
  const { status, content_type, body } = answer;
  return {
    status,
    content_type,
    body: body === undefined ? undefined : openAnswer(body, queueKey, inLife(caller.generation, command_id)),
  };
}
