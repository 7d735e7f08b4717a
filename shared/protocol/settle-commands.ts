/** Records the end of a command once: when all its operations have ended, or when its deadline has passed. */

import { type CommandRecord, decideSettlement } from '../records/command-record.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import type { OperationsRead } from '../store/records.ts';
import type { RecordWriter } from './record-operation.ts';

export interface OperationsReader {
  /** Resolves to those of the project's operations that have records. */
  readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead>;
}

export interface SettleDeps {
  readonly store: OperationsReader & RecordWriter;
  readonly clock: Clock;
}

/** At most this many commands are looked at concurrently. Each needs a read and perhaps a write. */
const COMMANDS_AT_ONCE = 8;

/**
 * Returns those commands that this call has settled, as they are now stored. `known` are operations, by id, that need
 * no read. An operation that cannot be read counts as not ended, so its command settles at the deadline. Once
 * `signal` is aborted, no further command is looked at, and the next invocation settles the others.
 */
export async function settleCommands(
  deps: SettleDeps,
  commands: readonly CommandRecord[],
  known: ReadonlyMap<string, OperationRecord> = new Map(),
  signal?: AbortSignal,
): Promise<readonly CommandRecord[]> {
  const settled: CommandRecord[] = [];
  const settleOne = async (command: CommandRecord) => {
    const next = await settleIfEnded(deps, command, known);
    if (next !== undefined) settled.push(next);
  };
  const open = commands.filter(({ is_settled }) => !is_settled);
  await forEachConcurrently(open, COMMANDS_AT_ONCE, settleOne, signal);
  return settled;
}

async function settleIfEnded(
  { store, clock }: SettleDeps,
  command: CommandRecord,
  known: ReadonlyMap<string, OperationRecord>,
): Promise<CommandRecord | undefined> {
  const unknownIds = command.operation_ids.filter((id) => !known.has(id));
  const read =
    unknownIds.length > 0 ? (await store.readOperations(command.project_id, unknownIds)).records : [];
  const next = decideSettlement(command, new Map([...known, ...read]), clock.now());
  if (next === undefined) return undefined;
  // On a conflict another process has settled the command, and that process publishes it.
  return (await store.record(next, command.revision)) === 'recorded' ? next : undefined;
}
