/** Records and publishes the end of a command that started no operation, so that its end becomes an event all the same. */

import type { SettlementOutcome } from '../core/journal/journal-entries.ts';
import { endedWithoutOperations } from '../core/records/command-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Command } from './record-command.ts';
import type { RecordWriter } from './record-writer.ts';
import { type RelayDeps, type RelayStore, relayRecords } from './relay-records.ts';

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
