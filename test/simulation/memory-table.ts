/** `Table` in memory, with DynamoDB's conditions, sparse index and write units; the simulation adds faults around it. */

import { foreignAttributes } from '../../shared/store/attributes.ts';
import type {
  Attribute,
  Condition,
  Item,
  Key,
  Table,
  TableCounters,
  Update,
} from '../../shared/store/table.ts';

export interface MemoryTable extends Table, TableCounters {
  /** The same calls without promises: the simulation decides when they happen. */
  readonly sync: {
    get(key: Key): Item | undefined;
    update(update: Update): 'applied' | 'refused';
    queryWork(query: { readonly work: string; readonly pk?: string }): readonly Key[];
    items(): readonly Item[];
  };
  readonly spent: WriteUnits;
}

/** Write request units so far. A refused conditional write is billed like one that was applied. */
export interface WriteUnits {
  base: number;
  /** Puts and deletes of the index: an update that leaves the index key alone costs nothing there. */
  index: number;
}

const BYTES_PER_WRITE_UNIT = 1_024;

export function createMemoryTable(): MemoryTable {
  const items = new Map<string, Item>();
  const spent: WriteUnits = { base: 0, index: 0 };
  const idOf = ({ pk, sk }: Key) => `${pk}\n${sk}`;
  const byWork = new Map<unknown, Map<string, Key>>();

  const sync: MemoryTable['sync'] = {
    get: (key) => items.get(idOf(key)),
    items: () => [...items.values()],

    update(update) {
      const { key, set, remove = [], condition } = update;
      const foreign = foreignAttributes(update);
      if (foreign.length > 0)
        throw new Error(`No role may write ${foreign.join(', ')} to ${key.pk} / ${key.sk}`);
      const before = items.get(idOf(key));
      if (condition !== undefined && !holds(condition, before)) {
        spent.base += unitsOf(before);
        return 'refused';
      }
      const after: Record<string, Attribute | undefined> = { ...before, ...key };
      for (const [name, value] of Object.entries(set)) if (value !== undefined) after[name] = clone(value);
      for (const name of remove) delete after[name];
      items.set(idOf(key), after as Item);
      spent.base += Math.max(unitsOf(before), unitsOf(after as Item));
      if (before?.['work'] !== after['work']) {
        spent.index += Number(before?.['work'] !== undefined) + Number(after['work'] !== undefined);
        moveInIndex({ pk: key.pk, sk: key.sk }, before?.['work'], after['work']);
      }
      return 'applied';
    },

    queryWork: ({ work, pk }) =>
      [...(byWork.get(work)?.values() ?? [])].filter((key) => pk === undefined || key.pk === pk),
  };

  function moveInIndex(key: Key, before: unknown, after: unknown): void {
    byWork.get(before)?.delete(idOf(key));
    if (after === undefined) return;
    const members = byWork.get(after) ?? new Map<string, Key>();
    byWork.set(after, members.set(idOf(key), key));
  }

  return {
    sync,
    spent,
    get: async (key) => sync.get(key),
    getMany: async (keys) => keys.flatMap((key) => sync.get(key) ?? []),
    update: async (update) => sync.update(update),
    queryWork: async (query) => sync.queryWork(query),
    async increment({ key, name, by }) {
      const sum = Number(sync.get(key)?.[name] ?? 0) + by;
      sync.update({ key, set: { [name]: sum } });
      return sum;
    },
  };
}

function holds(condition: Condition, item: Item | undefined): boolean {
  switch (condition.kind) {
    case 'absent':
      return item?.[condition.name] === undefined;
    case 'equals':
      return item?.[condition.name] === condition.value;
    case 'less': {
      const value = item?.[condition.name];
      return typeof value === typeof condition.value && (value as string | number) < condition.value;
    }
    case 'any':
      return condition.of.some((part) => holds(part, item));
    case 'all':
      return condition.of.every((part) => holds(part, item));
  }
}

/** DynamoDB copies: a caller that changes what it passed in must not change the item. Undefined members go. */
function clone(value: Attribute): Attribute {
  return JSON.parse(JSON.stringify(value)) as Attribute;
}

function unitsOf(item: Item | undefined): number {
  return item === undefined ? 1 : Math.max(1, Math.ceil(sizeBytesOf(item) / BYTES_PER_WRITE_UNIT));
}

/** Near DynamoDB's rule: names and texts in UTF-8, about a digit pair a byte in numbers, a few bytes per structure. */
function sizeBytesOf(value: Attribute | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return Math.ceil(String(value).length / 2) + 1;
  if (value === null || typeof value === 'boolean') return 1;
  const STRUCTURE_BYTES = 3;
  if (Array.isArray(value))
    return value.reduce<number>((sum, part) => sum + 1 + sizeBytesOf(part), STRUCTURE_BYTES);
  return Object.entries(value).reduce(
    (sum, [name, part]) => sum + 1 + Buffer.byteLength(name) + sizeBytesOf(part as Attribute),
    STRUCTURE_BYTES,
  );
}
