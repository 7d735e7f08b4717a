/**
 * What one process is publishing at present and what it has acknowledged lately, so that its polls and the loop that relays
 * leftovers do not publish the same entry twice. Losing it costs copies and nothing else.
 */

import { acknowledged, type JournalRecord } from '../core/records/journal-record.ts';
import { keyOf } from '../store/items.ts';

export interface RelayLedger {
  /** The record as this process knows it: what was acknowledged after the record was read is taken into account. */
  asKnown<R extends JournalRecord>(record: R): R;
  /** False: somebody in this process is publishing this record's entries, and acknowledges them. */
  claim(record: JournalRecord): boolean;
  release(record: JournalRecord): void;
  noteAcknowledged(record: JournalRecord, through: number): void;
}

/** A poll takes seconds, and so many acknowledgements take a minute: what is forgotten was not read by anybody lately. */
const ACKNOWLEDGED_MAX = 10_000;

/**
 * One per invocation: were the table restored to an earlier point, a longer memory would hold back what is unpublished again.
 */
export function createRelayLedger(): RelayLedger {
  const claimed = new Set<string>();
  const throughOf = new Map<string, number>();
  return {
    asKnown(record) {
      const through = Math.min(throughOf.get(idOf(record)) ?? 0, record.revision);
      return through > record.published ? acknowledged(record, through) : record;
    },
    claim(record) {
      const id = idOf(record);
      if (claimed.has(id)) return false;
      claimed.add(id);
      return true;
    },
    release: (record) => void claimed.delete(idOf(record)),
    noteAcknowledged(record, through) {
      const id = idOf(record);
      const known = throughOf.get(id) ?? 0;
      // Deleted first, so that the map stays in the order of the latest acknowledgements.
      throughOf.delete(id);
      throughOf.set(id, Math.max(known, through));
      const [oldest] = throughOf.keys();
      if (throughOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) throughOf.delete(oldest);
    },
  };
}

function idOf(record: JournalRecord): string {
  const { pk, sk } = keyOf(record);
  return `${pk}\n${sk}`;
}
