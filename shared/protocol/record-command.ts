/** Records a command with the operations that it started, so that they become events at once and their end is published. */

import { type CommandRecord, endedWithoutOperations } from '../records/command-record.ts';
import { startedWith } from '../records/derivations.ts';
import { EMPTY_JOURNAL } from '../records/journal.ts';
import type { SettlementOutcome } from '../records/journal-entries.ts';
import type { Operation, OperationRecord } from '../records/operation-record.ts';
import { isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { type OperationsReader, settleCommands } from './record-derived.ts';
import {
  type OperationReader,
  type RecordDeps,
  type RecordWriter,
  recordOperation,
} from './record-operation.ts';
import { type RelayDeps, type RelayStore, relayRecords } from './relay-records.ts';

export interface Command {
  readonly project_id: string;
  readonly request_id: string;
  readonly client_id: string;
  /** Names the upstream API's call, such as `restartEndpoint`. */
  readonly call: string;
  /** W3C Trace Context of the client's request. */
  readonly traceparent?: string | undefined;
}

export interface RecordCommandDeps extends Omit<RelayDeps, 'store'> {
  readonly accountId: string;
  readonly store: RecordWriter & OperationReader & OperationsReader & RelayStore;
  readonly upstream: RecordDeps['upstream'];
  readonly clock: Clock;
  /** After this time the command settles, and its event names the operations that have not ended. */
  readonly settleWithinMs: number;
}

/**
 * Records the command before its operations. From then on, every reader of one of them knows which command started
 * it. After a crash in between, the poller finds the operations by itself. Rejects when the table does, and then only
 * the correlation of command and operations is lost.
 *
 * A command without operations has come to its end, which is recorded in the same write and published at once.
 */
export async function recordCommand(
  deps: RecordCommandDeps,
  command: Command,
  operations: readonly Operation[],
): Promise<void> {
  if (operations.length === 0) return recordEnded(deps, command);
  const operationIds = operations.map(({ id }) => id);
  const record = commandRecord(deps, command, operationIds);
  // The reads may come before the write of the command: they only have to come after the answer of the upstream.
  const [stored] = await Promise.all([
    Promise.all(operations.map((operation) => readStored(deps.store, operation))),
    deps.store.record(record, undefined),
  ]);
  const recordOne = async (operation: Operation, index: number) => {
    const known = stored[index];
    if (known !== undefined) return known.record;
    return recordNew(deps, command, operation, companionsOf(command, operation, operations));
  };
  const recorded = await Promise.all(operations.map(recordOne));
  const known = recorded.flatMap((each) => each ?? []);
  const ended = await settleCommands(deps, [record], new Map(known.map((each) => [each.operation_id, each])));
  await relayRecords(deps, [...known, ...ended]);
}

async function recordEnded(deps: RecordCommandDeps, command: Command): Promise<void> {
  const sent = { account_id: deps.accountId, ...command };
  const ended = endedWithoutOperations(sent, 'succeeded', deps.clock.now());
  // A record that is there already is another process's, which publishes it.
  if ((await deps.store.record(ended, undefined)) === 'recorded') await relayRecords(deps, [ended]);
}

/**
 * Records that a command started these operations, when recording it with them has failed. The poller finds the
 * operations and records the end. Does nothing when there is a record already. Rejects when the table does.
 */
export async function recordCommandStart(
  deps: RecordCommandDeps,
  command: Command,
  operationIds: readonly string[],
): Promise<void> {
  await deps.store.record(commandRecord(deps, command, operationIds), undefined);
}

/** There is an item of the operation already. Its record is undefined when the item cannot be read. */
interface StoredOperation {
  readonly record: OperationRecord | undefined;
}

/**
 * The upstream answered before this read of the store, so the answer says nothing about a state that is stored
 * already (ADR 0002). In that case the poller was faster, and what it recorded stays.
 */
async function readStored(
  store: OperationsReader,
  { project_id, id }: Operation,
): Promise<StoredOperation | undefined> {
  const { records, unreadableIds } = await store.readOperations(project_id, [id]);
  const record = records.get(id);
  return record === undefined && !unreadableIds.has(id) ? undefined : { record };
}

async function recordNew(
  { accountId, store, upstream, clock }: RecordCommandDeps,
  { client_id, request_id, traceparent }: Command,
  operation: Operation,
  started_with: readonly string[] | undefined,
): Promise<OperationRecord | undefined> {
  const contextOf: RecordDeps['contextOf'] = (_recorded, _reading, requestedMs) => ({
    account_id: accountId,
    nowMs: clock.now(),
    requestedMs,
    observed_by: 'command' as const,
    started_with,
    command: { client_id, request_id, ...(traceparent !== undefined && { traceparent }) },
  });
  const deps: RecordDeps = { clock, upstream, store, contextOf };
  // A command is recorded as soon as it is answered, and nothing is recorded of its operations yet.
  const outcome = await recordOperation(deps, undefined, operation, clock.now());
  return 'record' in outcome ? outcome.record : undefined;
}

/** This call runs `create_branch` for a branch that exists. */
const RESTORE = 'restoreBranch';

function companionsOf({ call }: Command, operation: Operation, operations: readonly Operation[]) {
  return call === RESTORE ? undefined : startedWith(operation, operations);
}

function commandRecord(
  { accountId, clock, settleWithinMs }: RecordCommandDeps,
  command: Command,
  operationIds: readonly string[],
): CommandRecord {
  const nowMs = clock.now();
  return {
    kind: 'command',
    ...EMPTY_JOURNAL,
    ...command,
    account_id: accountId,
    operation_ids: [...operationIds],
    sent_at: isoTimeOf(nowMs),
    deadline_at_ms: nowMs + settleWithinMs,
    is_settled: false,
  };
}

export interface RecordEndDeps extends Omit<RelayDeps, 'store'> {
  readonly accountId: string;
  readonly store: RecordWriter & RelayStore;
  readonly clock: Clock;
}

/**
 * May be called again after a crash: the first record stays, and an event that is not published yet is in the work
 * index, where the poller finds it. Rejects when the table does.
 */
export async function recordCommandEnd(
  deps: RecordEndDeps,
  command: Command,
  outcome: SettlementOutcome,
): Promise<void> {
  const { accountId, store, clock } = deps;
  const next = endedWithoutOperations({ account_id: accountId, ...command }, outcome, clock.now());
  const result = await store.record(next, undefined);
  if (result === 'recorded') await relayRecords(deps, [next]);
}
