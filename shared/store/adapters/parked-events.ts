/**
 * Keeps each event that the bus refused for good as an item of its own. A parked event has no `expires_at` and is
 * kept until a person deletes it, because only a person can decide whether it is sent again.
 */

import type { JournalEntry } from '../../core/journal/journal-entries.ts';
import type { JournalRecord } from '../../core/records/journal-record.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { keyOf } from '../items.ts';
import { parkedKey, parkedWorkOf } from '../keys.ts';
import type { Table } from '../table.ts';

export interface RefusedEntry {
  readonly entry: JournalEntry;
  /** The bus refused the entry with this error code. */
  readonly code: string;
  /** The event was sent like this, as JSON. */
  readonly event: string;
}

export function createParkedEvents(
  table: Pick<Table, 'update'>,
  accountId: string,
  clock: Pick<Clock, 'now'>,
) {
  return {
    async park(record: JournalRecord, { entry, code, event }: RefusedEntry): Promise<void> {
      await table.update({
        key: parkedKey(keyOf(record), entry.revision),
        set: {
          kind: 'parked',
          code,
          event,
          parked_at: isoTimeOf(clock.now()),
          work: parkedWorkOf(accountId),
        },
      });
    },
  };
}
