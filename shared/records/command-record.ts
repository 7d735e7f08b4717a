/** Decides when a command that started operations has settled, and describes its record. */

import * as z from 'zod';
import { append, EMPTY_JOURNAL, type Journal, withEventId } from './journal.ts';
import type { CommandOperation, CommandSettledEntry, Fields, SettlementOutcome } from './journal-entries.ts';
import { isTerminal, type OperationRecord } from './operation-record.ts';
import { isoTimeOf } from './time.ts';

const askedFields = {
  project_id: z.string(),
  request_id: z.string(),
  client_id: z.string(),
  /** Names the upstream API's call, such as `restartEndpoint`. */
  call: z.string(),
  /** W3C Trace Context of the client's request. */
  traceparent: z.string().optional(),
};

/** Says who has asked for what. */
export type Command = Fields<typeof askedFields>;

export const commandFields = {
  kind: z.literal('command'),
  account_id: z.string(),
  ...askedFields,
  operation_ids: z.array(z.string()),
  /** The command was sent at this time by our clock, ISO 8601. */
  sent_at: z.string(),
  /**
   * The command settles at this time, whichever operations have not ended. It is by our clock, in milliseconds since
   * the epoch.
   */
  deadline_at_ms: z.number(),
  is_settled: z.boolean(),
};

export interface CommandRecord extends Fields<typeof commandFields>, Journal<CommandSettledEntry> {}

/** In these statuses an operation did what was asked, or did not have to. */
const GOOD_ENDS: ReadonlySet<string> = new Set(['finished', 'skipped']);

/**
 * Returns the settled record with its event, or undefined while the command waits for an operation. `operations` are
 * those records of the command's operations that exist, by id.
 */
export function decideSettlement(
  command: CommandRecord,
  operations: ReadonlyMap<string, OperationRecord>,
  nowMs: number,
): CommandRecord | undefined {
  if (command.is_settled) return undefined;
  const missing = command.operation_ids.filter((id) => !hasEnded(operations.get(id)));
  if (missing.length > 0 && nowMs < command.deadline_at_ms) return undefined;
  const known = command.operation_ids.flatMap((id) => operations.get(id) ?? []).map(summarise);
  return settled(command, { outcome: outcomeOf(missing, known), operations: known, missing }, nowMs);
}

interface Sent extends Command {
  readonly account_id: string;
}

/** The record of a command that has started these operations, and settles at the deadline at the latest. */
export function startedCommand(
  sent: Sent,
  operation_ids: readonly string[],
  nowMs: number,
  deadline_at_ms: number,
): CommandRecord {
  return {
    kind: 'command',
    ...EMPTY_JOURNAL,
    ...sent,
    operation_ids,
    sent_at: isoTimeOf(nowMs),
    deadline_at_ms,
    is_settled: false,
  };
}

/** The record of a command that has ended without an operation. It has one entry, which becomes its event. */
export function endedWithoutOperations(sent: Sent, outcome: SettlementOutcome, nowMs: number): CommandRecord {
  return settled(startedCommand(sent, [], nowMs, nowMs), { outcome, operations: [], missing: [] }, nowMs);
}

function settled(
  command: CommandRecord,
  { outcome, operations: known, missing }: Pick<CommandSettledEntry, 'outcome' | 'operations' | 'missing'>,
  nowMs: number,
): CommandRecord {
  const revision = command.revision + 1;
  const { account_id, project_id, request_id } = command;
  const entry: CommandSettledEntry = withEventId([account_id, project_id, request_id], {
    type: 'command_settled' as const,
    revision,
    observed_at: isoTimeOf(nowMs),
    outcome,
    operations: known,
    missing,
  });
  return { ...command, is_settled: true, ...append(command, entry) };
}

/** A failed operation may be retried, so it has ended only once its watch has. */
function hasEnded(operation: OperationRecord | undefined): boolean {
  return operation !== undefined && (isTerminal(operation.status) || operation.watch_ended);
}

function outcomeOf(missing: readonly string[], known: readonly CommandOperation[]): SettlementOutcome {
  if (missing.length > 0) return 'incomplete';
  return known.every(({ status }) => GOOD_ENDS.has(status)) ? 'succeeded' : 'failed';
}

function summarise({ operation_id, action, status, failures_count }: OperationRecord): CommandOperation {
  return { operation_id, action, status, failures_count };
}
