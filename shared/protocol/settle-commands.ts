/** Says so, once, when all operations of a command have ended or its deadline has passed. */

import { type CommandRecord, settleCommand } from '../core/command-record.ts';
import type { OperationRecord } from '../core/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { BridgeStore } from '../store/bridge-store.ts';

export interface SettleDeps {
  readonly store: Pick<BridgeStore, 'readOperations' | 'record'>;
  readonly clock: Clock;
}

/**
 * The commands that are settled now, as they are stored. `known`: operations that the caller has at hand. One that cannot be
 * read counts as not known to have ended: the deadline holds for whoever waits.
 */
export async function settleCommands(
  { store, clock }: SettleDeps,
  commands: readonly CommandRecord[],
  known: ReadonlyMap<string, OperationRecord> = new Map(),
): Promise<readonly CommandRecord[]> {
  const settled: CommandRecord[] = [];
  for (const command of commands) {
    const unknownIds = command.operation_ids.filter((id) => !known.has(id));
    const read =
      unknownIds.length > 0 ? (await store.readOperations(command.project_id, unknownIds)).records : [];
    const next = settleCommand(command, new Map([...known, ...read]), clock.now());
    if (next === undefined) continue;
    const result = await store.record(next, command.revision);
    // Refused: somebody else has settled it, and publishes it.
    if (result === 'recorded') settled.push(next);
  }
  return settled;
}
