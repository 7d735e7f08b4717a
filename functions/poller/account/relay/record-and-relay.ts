/** Records a change of an item and publishes the event that it becomes. */

import type { JournalRecord } from '../../../../shared/core/records/journal-record.ts';
import type { RecordWriter } from '../../../../shared/protocol/record-writer.ts';
import { type RelayDeps, relayRecords } from '../../../../shared/protocol/relay-records.ts';

export interface RecordAndRelayDeps extends RelayDeps {
  readonly store: RelayDeps['store'] & RecordWriter;
}

/**
 * Resolves to false when another process has changed the item since `before` was read. Then nothing is written and
 * nothing is published. `before` is undefined when there was no item.
 */
export async function recordAndRelay(
  deps: RecordAndRelayDeps,
  next: JournalRecord,
  before: JournalRecord | undefined,
): Promise<boolean> {
  if ((await deps.store.record(next, before?.revision)) !== 'recorded') return false;
  await relayRecords(deps, [next]);
  return true;
}
