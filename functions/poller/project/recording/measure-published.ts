/** Measures how long after the upstream's own time the bus accepted an event. */

import type { JournalEntry } from '../../../../shared/core/journal/journal-entries.ts';
import type { MeasureDeps } from './measure-recorded.ts';

/** Returns what is done with each published entry. Only changes of an operation that a poll saw in time are measured. */
export function measurePublished({ clock, telemetry }: MeasureDeps): (entry: JournalEntry) => void {
  return (entry) => {
    if (entry.type !== 'state_changed' || entry.observed_by === 'backfill' || entry.late === true) return;
    const changedAtMs = Date.parse(entry.operation_updated_at);
    if (Number.isNaN(changedAtMs)) return;
    telemetry.measure('PublishDelayMs', Math.max(0, clock.now() - changedAtMs));
  };
}
