/** What is kept of a command that started operations, until all of them have ended. */

import { isoTimeOf } from '../time/timestamp.ts';
import { eventId } from './event-id.ts';
import { append, type Journal } from './journal.ts';
import type { CommandOperation, CommandSettledEntry } from './journal-entries.ts';
import { isTerminal } from './operation.ts';
import type { OperationRecord } from './operation-record.ts';

export interface CommandRecord extends Journal<CommandSettledEntry> {
  readonly kind: 'command';
  readonly account_id: string;
  readonly project_id: string;
  readonly request_id: string;
  /** Who sent it, by the name the bridge knows the caller by. */
  readonly client_id: string;
  /** The call of the upstream API. */
  readonly call: string;
  readonly operation_ids: readonly string[];
  /** Our clock, ISO 8601. */
  readonly sent_at: string;
  /** Our clock, milliseconds since the epoch: by then an event says what is known. */
  readonly deadline_at_ms: number;
  readonly is_settled: boolean;
}

/** Statuses in which an operation did, or rightly did not have to do, what was asked. */
const GOOD_ENDS: ReadonlySet<string> = new Set(['finished', 'skipped']);

/**
 * The settled record with its event; undefined while there is something to wait for. `operations`: those of the
 * command that are recorded, by id.
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
  const revision = command.revision + 1;
  const outcome = outcomeOf(missing, known);
  const content = known.flatMap(({ operation_id, status }) => [operation_id, status]);
  const { account_id, project_id, request_id } = command;
  const entry: CommandSettledEntry = {
    type: 'command_settled',
    id: eventId([account_id, project_id, request_id, revision, 'command_settled', outcome, ...content]),
    revision,
    observed_at: isoTimeOf(nowMs),
    outcome,
    operations: known,
    missing,
  };
  return { ...command, is_settled: true, ...append(command, entry) };
}

/** A failed operation may be retried, so it has not ended before nobody watches it any more. */
function hasEnded(operation: OperationRecord | undefined): boolean {
  return operation !== undefined && (isTerminal(operation.status) || operation.watch_ended);
}

function outcomeOf(
  missing: readonly string[],
  known: readonly CommandOperation[],
): CommandSettledEntry['outcome'] {
  if (missing.length > 0) return 'incomplete';
  return known.every(({ status }) => GOOD_ENDS.has(status)) ? 'succeeded' : 'failed';
}

function summarise({ operation_id, action, status, failures_count }: OperationRecord): CommandOperation {
  return { operation_id, action, status, failures_count };
}
