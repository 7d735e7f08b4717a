/** Says of every open operation, once per threshold, that it takes longer than its action usually does. */

import { isJournalFull } from '../../../shared/core/records/journal.ts';
import { decideStall } from '../../../shared/core/records/operation-record.ts';
import type { Poll } from './poll.ts';
import { dueStall } from './stall.ts';

export async function tellStalls(poll: Poll): Promise<void> {
  const { store, clock, options } = poll.deps;
  for (const record of poll.records.values()) {
    if (poll.request.signal?.aborted) return;
    // Only what this poll has read: an operation that ended unseen is not stalled.
    if (!poll.readIds.has(record.operation_id) || isJournalFull(record)) continue;
    const nowMs = clock.now();
    const stall = dueStall(record, options.stallThresholdsMs, nowMs);
    if (stall === undefined) continue;
    const next = decideStall(record, { ...stall, nowMs });
    const result = await store.record(next, record.revision);
    if (result === 'recorded') poll.records.set(record.operation_id, next);
  }
}
