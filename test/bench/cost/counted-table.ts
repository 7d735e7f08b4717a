/** Wraps the in-memory table with DynamoDB's meter, and says which part of the poller asks for what. */

import { NUDGES_PARTITION } from '../../../shared/store/keys.ts';
import type { TableIndexes, TablePartitions } from '../../../shared/store/table.ts';
import {
  INDEXES,
  type Index,
  type Item,
  type Key,
  type Table,
  type Update,
} from '../../../shared/store/table.ts';
import { createMemoryTable, itemBytes } from '../../simulation/memory-table.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { createMemoryPartitions } from '../../store/memory-partitions.ts';

/** Counts the request units of one subject, of the table and of all indexes, as DynamoDB bills them on demand. */
export interface Units {
  read: number;
  write: number;
}

interface CountedTable {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly partitions: TablePartitions;
  /** The keys are subjects, such as `projects` or `lease`. */
  readonly units: ReadonlyMap<string, Units>;
}

/** A read unit is a strongly consistent read of up to 4 kB, also of an item that does not exist. */
const BYTES_PER_READ_UNIT = 4_096;

/** An eventually consistent read costs half as much. Reads of an index are always like that. */
const EVENTUAL_SHARE = 0.5;

/** An entry of an index has only keys: of the table, and of the index. */
const INDEX_ENTRY_BYTES = 200;

/** A page of DynamoDB has 1 MB, which is more than any partition that the poller reads whole. */
const ITEMS_PER_PAGE = 1_000;

export function createCountedTable(): CountedTable {
  const memory = createMemoryTable().as('poller');
  const indexes = createMemoryIndexes(memory);
  const partitions = createMemoryPartitions(memory, ITEMS_PER_PAGE);
  const units = new Map<string, Units>();
  const of = (subject: string): Units => {
    const known = units.get(subject) ?? { read: 0, write: 0 };
    units.set(subject, known);
    return known;
  };
  const countItem = (key: Key, item: Item | undefined) => {
    of(subjectOf(key)).read += unitsOfBytes(item === undefined ? 0 : itemBytes(item));
  };
  const countEntries = (subject: string, entryCount: number) => {
    of(subject).read += EVENTUAL_SHARE * unitsOfBytes(entryCount * INDEX_ENTRY_BYTES);
  };

  const table: Table = {
    async get(key) {
      countItem(key, memory.sync.peek(key));
      return memory.sync.get(key);
    },
    getMany(keys) {
      for (const key of keys) countItem(key, memory.sync.peek(key));
      return memory.getMany(keys);
    },
    async queryWork(query) {
      const keys = memory.sync.queryWork(query);
      countEntries(workSubjectOf(query.work), keys.length);
      return keys;
    },
    async queryWorkPage(query) {
      const page = memory.sync.queryWorkPage(query);
      countEntries(query.pk === undefined ? 'work of accounts' : 'work of projects', page.keys.length);
      return page;
    },
    // The update is applied before the call returns, so no other write is counted with it.
    update: async (update) => countedUpdate(update),
  };

  return {
    table,
    units,
    indexes: {
      async query(query) {
        const page = await indexes.query(query);
        countEntries('indexes', page.keys.length);
        return page;
      },
    },
    partitions: {
      async readPartition(query) {
        const page = await partitions.readPartition(query);
        const bytes = page.items.reduce((sum, item) => sum + itemBytes(item), 0);
        of(LANE_SUBJECTS[query.partition] ?? 'list of accounts').read +=
          unitsOfBytes(bytes) * (query.mayLag === true ? EVENTUAL_SHARE : 1);
        return page;
      },
    },
  };

  function countedUpdate(update: Update): 'applied' | 'refused' {
    const before = { item: memory.sync.peek(update.key), base: memory.spent.base };
    const result = memory.sync.update(update);
    const after = memory.sync.peek(update.key);
    const moves = INDEXES.reduce((sum, index) => sum + indexWrites(index, before.item, after), 0);
    of(subjectOf(update.key)).write += memory.spent.base - before.base + moves;
    return result;
  }
}

function unitsOfBytes(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_PER_READ_UNIT));
}

/** An entry of an index is added, removed, or moved, which is both. */
function indexWrites(index: Index, before: Item | undefined, after: Item | undefined): number {
  const [was, is] = [placeIn(index, before), placeIn(index, after)];
  return was === is ? 0 : Number(was !== undefined) + Number(is !== undefined);
}

function placeIn({ partitionKey, sortKey }: Index, item: Item | undefined): string | undefined {
  const [partition, order] = [item?.[partitionKey], item?.[sortKey]];
  return typeof partition === 'string' && typeof order === 'string' ? `${partition}\n${order}` : undefined;
}

const BY_SORT_KEY: Readonly<Record<string, string>> = {
  PROJECT: 'projects',
  OP: 'operations',
  CMD: 'commands',
  BRANCH: 'branches and computes',
  COMPUTE: 'branches and computes',
  LEASE: 'lease',
  STATUS: 'status',
  ACCOUNT: 'account',
  NAMES: 'names',
};

const LANE_SUBJECTS: Readonly<Record<string, string>> = {
  [NUDGES_PARTITION]: 'nudges',
};

const BY_PARTITION_KEY: Readonly<Record<string, string>> = {
  LANES: 'nudges',
  USAGE: 'usage of commands',
  READ: 'repairs and replays',
  INSIGHTS: 'insights',
};

function subjectOf({ pk, sk }: Key): string {
  const [partition = '', order = ''] = [pk.split('#')[0], sk.split('#')[0]];
  return BY_PARTITION_KEY[partition] ?? BY_SORT_KEY[order] ?? 'other items';
}

function workSubjectOf(work: string): string {
  return /wish/i.test(work) ? 'wishes' : 'repairs and replays';
}
