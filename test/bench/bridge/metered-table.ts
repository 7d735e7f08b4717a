/** Wraps the in-memory table with DynamoDB's meter: read and write request units of the table and of every index. */

import {
  INDEXES,
  type Index,
  type Item,
  type Key,
  type Table,
  type Update,
} from '../../../shared/store/table.ts';
import { createMemoryTable, type MemoryTable } from '../../simulation/memory-table.ts';

/** Counts request units as DynamoDB bills them for on-demand tables. */
export interface TableUnits {
  /** The account's activity causes these writes: records, acknowledgements and progress. */
  writes: number;
  /** The same writes cost the work index these units, on top of those of the table. */
  workIndexWrites: number;
  /** Counts the writes of all indexes, whatever caused them. */
  indexWrites: number;
  /** These writes happen periodically without any activity: they renew the lease and the status. */
  upkeepWrites: number;
  reads: number;
}

/** The functions of the bridge use the same table, each within its own role, and one meter counts for all. */
export interface MeteredTable {
  readonly poller: Table;
  readonly api: Table;
  readonly units: TableUnits;
}

/**
 * A strongly consistent read of up to 4 kB costs a unit, also when the item does not exist. A read of an index costs
 * half a unit.
 */
const UNITS_PER_READ = 1;
const UNITS_PER_QUERY = 0.5;

const UPKEEP: ReadonlySet<string> = new Set(['LEASE', 'STATUS']);

export function createMeteredTable(): MeteredTable {
  const memory = createMemoryTable();
  const units: TableUnits = { writes: 0, workIndexWrites: 0, indexWrites: 0, upkeepWrites: 0, reads: 0 };
  return {
    units,
    poller: metered(memory.as('poller'), units),
    api: metered(memory.as('api'), units),
  };
}

function metered(table: MemoryTable, units: TableUnits): Table {
  return {
    get(key) {
      units.reads += UNITS_PER_READ;
      return table.get(key);
    },
    getMany(keys) {
      units.reads += UNITS_PER_READ * keys.length;
      return table.getMany(keys);
    },
    queryWork(query) {
      units.reads += UNITS_PER_QUERY;
      return table.queryWork(query);
    },
    queryWorkPage(query) {
      units.reads += UNITS_PER_QUERY;
      return table.queryWorkPage(query);
    },
    // The update is applied before the call returns, so no other write is counted with it.
    update: async (update) => countedUpdate(update),
  };

  function countedUpdate(update: Update): 'applied' | 'refused' {
    const before = { item: table.sync.peek(update.key), ...table.spent };
    const result = table.sync.update(update);
    const after = table.sync.peek(update.key);
    const writes = table.spent.base - before.base;
    if (UPKEEP.has(update.key.sk)) units.upkeepWrites += writes;
    else {
      units.writes += writes;
      units.workIndexWrites += table.spent.index - before.index;
    }
    for (const index of INDEXES) units.indexWrites += unitsOf(index, before.item, after);
    return result;
  }
}

/** Counts the writes of an index that holds only keys. An entry is added, removed, or moved, which is both. */
function unitsOf(index: Index, before: Item | undefined, after: Item | undefined): number {
  const [was, is] = [placeIn(index, before), placeIn(index, after)];
  if (was === is) return 0;
  return Number(was !== undefined) + Number(is !== undefined);
}

function placeIn({ partitionKey, sortKey }: Index, item: (Item & Key) | undefined): string | undefined {
  const [partition, order] = [item?.[partitionKey], item?.[sortKey]];
  return typeof partition === 'string' && typeof order === 'string' ? `${partition}\n${order}` : undefined;
}
