/** Sets up the production store over the in-memory table, and lets single writes end without an answer. */

import type { JournalRecord } from '../../shared/records/journal-record.ts';
import { type BridgeStore, createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

export function aStore(nowMs: () => number) {
  const table = createMemoryTable();
  const clock = { now: nowMs, sleep: async () => {} };
  const store = createBridgeStore(table, 'main', clock);
  return { table, clock, store };
}

export type LostWrite = 'refused by the network' | 'applied, and its reply is lost';

/**
 * Returns a store of which some writes end without an answer. `next` decides what becomes of the next write, and
 * undefined means that it is answered.
 */
export function withLostWrites(store: BridgeStore, next: () => LostWrite | undefined): BridgeStore {
  return {
    ...store,
    record: async (record: JournalRecord, expectedRevision) => {
      const lost = next();
      if (lost === undefined) return store.record(record, expectedRevision);
      if (lost === 'applied, and its reply is lost') await store.record(record, expectedRevision);
      throw new Error('socket hang up');
    },
  };
}
