/**
 * Remembers what one process is publishing at present and what it acknowledged recently, so that its polls and the
 * loop that relays leftovers do not publish the same entry twice. If it is lost, some events are published twice and
 * nothing else happens.
 */

import { acknowledged, type JournalRecord } from '../core/records/journal-record.ts';
import { keyOf } from '../store/items.ts';

export interface RelayLedger {
  /** Returns the record with everything that this process has acknowledged since the record was read. */
  asKnown<R extends JournalRecord>(record: R): R;
  /** Returns `false` when another loop of this process is publishing this record's entries and will acknowledge them. */
  claim(record: JournalRecord): boolean;
  release(record: JournalRecord): void;
  noteAcknowledged(record: JournalRecord, through: number): void;
  /** Notes that the bus was sent entries of the record and did not say that it took them. It may have taken them. */
  noteTried(record: JournalRecord): void;
  wasTried(record: JournalRecord): boolean;
  /** The record has entries again that must be published, although they were acknowledged once. */
  forget(record: JournalRecord): void;
}

/**
 * At most this many acknowledgements are remembered. They take about a minute, and a poll takes seconds, so no loop
 * still holds a record that it read before the oldest of them.
 */
const ACKNOWLEDGED_MAX = 10_000;

/** Of more records than this, those that were tried first count as new. */
const TRIED_MAX = 10_000;

/**
 * Creates the ledger of one invocation. A longer memory would be wrong after the table is restored to an earlier
 * point: entries that are unpublished again would be held back. `tried` is kept for longer, since it decides nothing but an order.
 */
export function createRelayLedger(tried: Set<string> = new Set()): RelayLedger {
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
    noteTried(record) {
      tried.add(idOf(record));
      const [oldest] = tried;
      if (tried.size > TRIED_MAX && oldest !== undefined) tried.delete(oldest);
    },
    wasTried: (record) => tried.has(idOf(record)),
    release: (record) => void claimed.delete(idOf(record)),
    forget: (record) => void throughOf.delete(idOf(record)),
    noteAcknowledged(record, through) {
      const id = idOf(record);
      const known = throughOf.get(id) ?? 0;
      // Deleting the key first keeps the map in the order of the latest acknowledgements.
      throughOf.delete(id);
      throughOf.set(id, Math.max(known, through));
      if (through >= record.revision) tried.delete(id);
      const [oldest] = throughOf.keys();
      if (throughOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) throughOf.delete(oldest);
    },
  };
}

function idOf(record: JournalRecord): string {
  const { pk, sk } = keyOf(record);
  return `${pk}\n${sk}`;
}
