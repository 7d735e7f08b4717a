/** The event of a journal entry: a function of what is stored and of nothing else, so that all copies are byte-equal. */

import type {
  CommandSettledEntry,
  JournalEntry,
  StalledEntry,
  StateChangedEntry,
} from '../core/records/journal.ts';
import type { JournalRecord } from '../core/records/journal-record.ts';
import { isTerminal } from '../core/records/operation.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import { DETAIL_TYPES, EVENT_SOURCE } from './event-names.ts';

export interface BusEvent {
  readonly source: string;
  readonly detailType: string;
  /** JSON. */
  readonly detail: string;
  /** ISO 8601; EventBridge keeps whole seconds of it. */
  readonly time: string;
}

export function renderEvent(record: JournalRecord, entry: JournalEntry): BusEvent {
  const detail = {
    schema: 1,
    id: entry.id,
    account_id: record.account_id,
    ...(record.kind === 'account' ? {} : { project_id: record.project_id }),
    ...(record.kind === 'operation' ? operationIdentity(record) : {}),
    ...entryFields(record, entry),
    observed_at: entry.observed_at,
  };
  return {
    source: EVENT_SOURCE,
    detailType: DETAIL_TYPES[entry.type],
    // JSON leaves undefined fields out, which is what "optional" means in the catalog.
    detail: JSON.stringify(detail),
    time: entry.observed_at,
  };
}

/** The fields of an operation that never change once it is recorded. */
function operationIdentity({ operation_id, action, branch_id, endpoint_id }: OperationRecord): object {
  return { operation_id, action, branch_id, endpoint_id };
}

function entryFields(record: JournalRecord, entry: JournalEntry): object {
  switch (entry.type) {
    case 'state_changed':
      return stateChangedFields(record, entry);
    case 'watch_ended':
      return { reason: entry.reason, status: entry.status, failures_count: entry.failures_count };
    case 'operation_stalled':
      return stalledFields(record, entry);
    case 'command_settled':
      return commandSettledFields(record, entry);
    case 'account_degraded':
    case 'account_recovered':
      return { reason: entry.reason };
    case 'project_discovered':
      return {};
    case 'project_unreachable':
      return { reason: entry.reason };
  }
}

function stateChangedFields(record: JournalRecord, entry: StateChangedEntry): object {
  return {
    sequence: entry.sequence,
    previous_status: entry.previous_status,
    status: entry.status,
    terminal: isTerminal(entry.status),
    failures_count: entry.failures_count,
    new_failures: entry.new_failures,
    error: entry.error,
    operation_created_at: record.kind === 'operation' ? record.created_at : undefined,
    operation_updated_at: entry.operation_updated_at,
    total_duration_ms: entry.total_duration_ms,
    observed_by: entry.observed_by,
    late: entry.late,
    irregular: entry.irregular,
    command: entry.command,
  };
}

function stalledFields(record: JournalRecord, entry: StalledEntry): object {
  return {
    status: entry.status,
    failures_count: entry.failures_count,
    open_ms: entry.open_ms,
    threshold_ms: entry.threshold_ms,
    operation_created_at: record.kind === 'operation' ? record.created_at : undefined,
    command: record.kind === 'operation' ? record.command : undefined,
  };
}

function commandSettledFields(record: JournalRecord, entry: CommandSettledEntry): object {
  const { outcome, operations, missing } = entry;
  if (record.kind !== 'command') return { outcome, operations, missing };
  const { client_id, request_id, call } = record;
  return { command: { client_id, request_id }, call, outcome, operations, missing };
}
