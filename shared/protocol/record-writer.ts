/** The port through which every use case writes a record together with the event that its change becomes. */

import type { JournalRecord } from '../core/records/journal-record.ts';
import type { RecordResult } from '../store/adapters/record-result.ts';

export interface RecordWriter {
  /**
   * Makes one conditional write of one item. `expectedRevision` is the revision that was read, and undefined when
   * there was no record. Resolves to `conflict` when the record has changed since then, and nothing was written.
   * Rejects when the outcome is unknown.
   */
  record(next: JournalRecord, expectedRevision: number | undefined): Promise<RecordResult>;
}
