/** Writes the metrics and log lines about one recorded reading. */

import { isJournalFull, PENDING_ENTRIES_MAX } from '../../../../shared/core/journal/journal.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

export interface MeasureDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** `isFirstWalk` is true when no walk of the project was completed before this poll. */
export function measureRecorded(
  { clock, telemetry }: MeasureDeps,
  record: OperationRecord,
  isFirstWalk: boolean,
): void {
  // This line appears once per outage: while the journal is full, nothing more is recorded.
  if (isJournalFull(record)) {
    const { project_id, operation_id } = record;
    telemetry.log('warn', 'journal.full', { project_id, operation_id, entry_count: PENDING_ENTRIES_MAX });
  }
  const entry = record.entries.at(-1);
  if (entry?.type !== 'state_changed') return;
  telemetry.measure('TransitionsRecorded', 1);
  telemetry.measure('TransitionsByStatus', 1, entry.status);
  const failureCount = Math.max(entry.new_failures, entry.status === 'error' ? 1 : 0);
  if (failureCount > 0) telemetry.measure('FailuresByAction', failureCount, record.action);
  if (entry.late === true) telemetry.measure('LateOperations', 1);
  // The first walk of a project shows how late the bridge came, and not how soon it sees a change.
  if (isFirstWalk || entry.observed_by === 'backfill' || entry.late === true) return;
  const changedAtMs = Date.parse(entry.operation_updated_at);
  if (!Number.isNaN(changedAtMs))
    telemetry.measure('DetectionDelayMs', Math.max(0, clock.now() - changedAtMs));
}
