/**
 * Remembers what one process is publishing at present and what it acknowledged recently, so that its polls and the
 * loop that relays leftovers do not publish the same entry twice. If it is lost, some events are published twice and
 * nothing else happens.
 */

import { type Acknowledged, acknowledged, type JournalRecord } from '../core/records/journal-record.ts';
import { keyOf } from '../store/items.ts';

export interface RelayLedger {
  /** Returns the record with everything that this process has acknowledged since the record was read. */
  asKnown<R extends JournalRecord>(record: R): R;
  /** Returns `false` when another loop of this process is publishing this record's entries and will acknowledge them. */
  claim(record: JournalRecord): boolean;
  release(record: JournalRecord): void;
  noteAcknowledged(record: JournalRecord, counted: Acknowledged): void;
  /** Notes that the bus was sent entries of the record and did not say that it took them. It may have taken them. */
  noteTried(record: JournalRecord): void;
  wasTried(record: JournalRecord): boolean;
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
  const countedOf = new Map<string, Acknowledged>();
  return {
    asKnown(record) {
      const known = countedOf.get(idOf(record));
      const through = Math.min(known?.through ?? 0, record.revision);
      if (known === undefined || through <= record.published) return record;
      return acknowledged(record, { through, derived: Math.min(known.derived, through) });
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
    noteAcknowledged(record, counted) {
      const id = idOf(record);
      const { through = 0, derived = 0 } = countedOf.get(id) ?? {};
      // Deleting the key first keeps the map in the order of the latest acknowledgements.
      countedOf.delete(id);
      countedOf.set(id, {
        through: Math.max(through, counted.through),
        derived: Math.max(derived, counted.derived),
      });
      if (counted.through >= record.revision) tried.delete(id);
      const [oldest] = countedOf.keys();
      if (countedOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) countedOf.delete(oldest);
    },
  };
}

function idOf(record: JournalRecord): string {
  const { pk, sk } = keyOf(record);
  return `${pk}\n${sk}`;
}
