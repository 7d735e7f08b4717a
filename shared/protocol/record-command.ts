/** Records a command with the operations that it started, so that they become events at once and their end is published. */

import {
  type Command,
  type CommandRecord,
  endedWithoutOperations,
  startedCommand,
} from '../records/command-record.ts';
import { startedWith } from '../records/derivations.ts';
import type { SettlementOutcome } from '../records/journal-entries.ts';
import type { Operation, OperationRecord } from '../records/operation-record.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { settleCommands } from './record-derived.ts';
import { type RecordDeps, recordOperation } from './record-operation.ts';
import { type RelayDeps, relayRecords } from './relay-records.ts';

export interface RecordCommandDeps extends RelayDeps {
  readonly upstream: UpstreamClient;
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
  if (operations.length === 0) return recordCommandEnd(deps, command, 'succeeded');
  const ids = operations.map(({ id }) => id);
  const record = commandRecord(deps, command, ids);
  // The read may come before the write of the command: it only has to come after the answer of the upstream.
  const [{ records: stored, unreadableIds }] = await Promise.all([
    deps.store.readOperations(command.project_id, ids),
    deps.store.record(record, undefined),
  ]);
  const recordOne = async (operation: Operation) => {
    // The answer says nothing about a state that is stored already (ADR 0002): the poller was faster.
    if (stored.has(operation.id) || unreadableIds.has(operation.id)) return stored.get(operation.id);
    return recordNew(deps, command, operation, companionsOf(command, operation, operations));
  };
  const known = (await Promise.all(operations.map(recordOne))).flatMap((each) => each ?? []);
  const ended = await settleCommands(deps, [record], new Map(known.map((each) => [each.operation_id, each])));
  await relayRecords(deps, [...known, ...ended]);
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

async function recordNew(
  { store, upstream, clock }: RecordCommandDeps,
  { client_id, request_id, traceparent }: Command,
  operation: Operation,
  started_with: readonly string[] | undefined,
): Promise<OperationRecord | undefined> {
  const contextOf: RecordDeps['contextOf'] = (_recorded, _reading, requestedMs) => ({
    account_id: store.accountId,
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
  { store, clock, settleWithinMs }: RecordCommandDeps,
  command: Command,
  operationIds: readonly string[],
): CommandRecord {
  const nowMs = clock.now();
  const sent = { account_id: store.accountId, ...command };
  return startedCommand(sent, operationIds, nowMs, nowMs + settleWithinMs);
}

/**
 * May be called again after a crash: the first record stays, and an event that is not published yet is in the work
 * index, where the poller finds it. Rejects when the table does.
 */
export async function recordCommandEnd(
  deps: RelayDeps,
  command: Command,
  outcome: SettlementOutcome,
): Promise<void> {
  const { store, clock } = deps;
  const next = endedWithoutOperations({ account_id: store.accountId, ...command }, outcome, clock.now());
  if ((await store.record(next, undefined)) === 'recorded') await relayRecords(deps, [next]);
}
