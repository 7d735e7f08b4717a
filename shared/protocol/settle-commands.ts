/** Says so, once, when all operations of a command have ended or its deadline has passed. */

import { type CommandRecord, settleCommand } from '../core/records/command-record.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import type { BridgeStore } from '../store/bridge-store.ts';

export interface SettleDeps {
  readonly store: Pick<BridgeStore, 'readOperations' | 'record'>;
  readonly clock: Clock;
}

/** Commands that are looked at side by side: each needs a read and perhaps a write. */
const COMMANDS_AT_ONCE = 8;

/**
 * The commands that are settled now, as they are stored. `known`: operations that the caller has at hand. An operation that
 * cannot be read counts as not known to have ended: the deadline holds for whoever waits. Once `signal` is aborted, no further
 * command is looked at; the next invocation finds the others.
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
  const next = settleCommand(command, new Map([...known, ...read]), clock.now());
  if (next === undefined) return undefined;
  // Refused: somebody else has settled it, and publishes it.
  return (await store.record(next, command.revision)) === 'recorded' ? next : undefined;
}
