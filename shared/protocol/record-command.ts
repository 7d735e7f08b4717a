/** Records what a command started, so that its operations are events at once and their end is told. */

import type { CommandRecord } from '../core/records/command-record.ts';
import { EMPTY_JOURNAL } from '../core/records/journal.ts';
import type { JournalRecord } from '../core/records/journal-record.ts';
import type { Operation } from '../core/records/operation.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { BridgeStore } from '../store/bridge-store.ts';
import { type RecordDeps, recordOperation } from './record-operation.ts';
import { type RelayDeps, relayRecords } from './relay-records.ts';
import { settleCommands } from './settle-commands.ts';

export interface Command {
  readonly project_id: string;
  readonly request_id: string;
  /** Who sent it, by the name the bridge knows the caller by. */
  readonly client_id: string;
  /** The call of the upstream API. */
  readonly call: string;
}

export interface RecordCommandDeps extends Omit<RelayDeps, 'store'> {
  readonly store: BridgeStore;
  readonly upstream: RecordDeps['upstream'];
  readonly clock: Clock;
  /** How long the operations of a command may take before an event names those that are missing. */
  readonly settleWithinMs: number;
}

/**
 * The command first: whoever meets one of its operations from then on knows who started it, and a crash in between
 * leaves the operations to the poller. Rejects when the table does; nothing is lost then but the correlation, since
 * the poller finds the operations by itself.
 */
export async function recordCommand(
  deps: RecordCommandDeps,
  command: Command,
  operations: readonly Operation[],
): Promise<void> {
  if (operations.length === 0) return;
  const record = commandRecord(deps, command, operations);
  await deps.store.record(record, undefined);
  const recorded = await Promise.all(operations.map((operation) => recordOne(deps, command, operation)));
  const known = recorded.flatMap((each) => each ?? []);
  const ended = await settleCommands(deps, [record], new Map(known.map((each) => [each.operation_id, each])));
  const all: readonly JournalRecord[] = [...known, ...ended];
  await relayRecords(
    deps,
    all.filter((each) => each.published < each.revision),
  );
}

/**
 * The answer came before this read of the store, so it says nothing about a state that is there already (ADR 0002): the
 * poller was faster, and what it recorded stays.
 */
async function recordOne(
  { store, upstream, clock }: RecordCommandDeps,
  { client_id, request_id }: Command,
  operation: Operation,
): Promise<OperationRecord | undefined> {
  const { records, unreadableIds } = await store.readOperations(operation.project_id, [operation.id]);
  const recorded = records.get(operation.id);
  if (recorded !== undefined || unreadableIds.has(operation.id)) return recorded;
  const contextOf = () => ({
    account_id: store.accountId,
    nowMs: clock.now(),
    observed_by: 'command' as const,
    command: { client_id, request_id },
  });
  const deps: RecordDeps = { upstream, store, contextOf };
  const outcome = await recordOperation(deps, undefined, operation);
  return 'record' in outcome ? outcome.record : undefined;
}

function commandRecord(
  { store, clock, settleWithinMs }: RecordCommandDeps,
  command: Command,
  operations: readonly Operation[],
): CommandRecord {
  const nowMs = clock.now();
  return {
    kind: 'command',
    ...EMPTY_JOURNAL,
    ...command,
    account_id: store.accountId,
    operation_ids: operations.map(({ id }) => id),
    sent_at: new Date(nowMs).toISOString(),
    deadline_at_ms: nowMs + settleWithinMs,
    is_settled: false,
  };
}
