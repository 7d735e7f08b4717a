/**
 * Implements `Table` in memory, with DynamoDB's conditions, sparse index and write units. The simulation adds faults
 * around it.
 */

import { ACCESS, type Role } from '../../infra/aws/resources/bridge-function.ts';
import {
  type Attribute,
  type Condition,
  INDEXES,
  type Item,
  type Key,
  type Table,
  type Update,
  type WorkPage,
  type WorkPageQuery,
  type WorkQuery,
} from '../../shared/store/table.ts';
import { foreignAttributes, readableAttributes, readsMany } from '../../shared/store/table-access.ts';

export interface MemoryTable extends Table {
  /** Offers the same calls without promises, so that the simulation decides when they happen. */
  readonly sync: {
    get(key: Key): Item | undefined;
    /** Throws what DynamoDB answers when two of the keys are equal. */
    getMany(keys: readonly Key[]): readonly Item[];
    /** Returns the whole item, whatever the role may read. */
    peek(key: Key): Item | undefined;
    update(update: Update): 'applied' | 'refused';
    queryWork(query: WorkQuery): readonly Key[];
    queryWorkPage(query: WorkPageQuery): WorkPage;
    items(): readonly Item[];
    /** Removes an item as DynamoDB does when the item has expired. */
    remove(key: Key): void;
    /** Replaces all items, as an operator does who restores the table to an earlier time. */
    replaceAll(items: readonly Item[]): void;
    /** Deletes the items whose `expires_at` has passed, and returns their number. */
    expire(nowMs: number): number;
  };
  readonly spent: WriteUnits;
  /**
   * Returns the same table as a function sees it: attributes that its role cannot read are absent, and calls that its
   * role forbids throw.
   */
  as(role: Role): MemoryTable;
}

/** Counts write request units. A refused conditional write costs as much as an applied one. */
export interface WriteUnits {
  base: number;
  /** Counts puts and deletes of the index: an update that does not change the index key costs nothing there. */
  index: number;
}

/** DynamoDB refuses such a call whatever the table holds, and the SDK throws an error with this name. */
class RefusedCall extends Error {
  override readonly name = 'ValidationException';
}

/** No key of the table or of an index is empty (DynamoDB Developer Guide, "Constraints"). */
const KEY_NAMES: ReadonlySet<string> = new Set([
  'pk',
  'sk',
  ...INDEXES.flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey]),
]);

/** DynamoDB Developer Guide, "Quotas". */
const ITEM_BYTES_MAX = 400 * 1_024;

function refuseEmptyKey(key: Key): void {
  for (const name of ['pk', 'sk'] as const)
    if (key[name] === '')
      throw new RefusedCall(`The key attribute ${name} cannot contain an empty string value`);
}

interface NumberedKey {
  readonly key: Key;
  readonly number: number;
}

const BYTES_PER_WRITE_UNIT = 1_024;

/** Creates a table on which everything is allowed; `as` restricts it to a role. */
export function createMemoryTable(): MemoryTable {
  const items = new Map<string, Item>();
  const spent: WriteUnits = { base: 0, index: 0 };
  const idOf = ({ pk, sk }: Key) => `${pk}\n${sk}`;
  const byWork = new Map<unknown, Map<string, NumberedKey>>();
  let number = 0;
  return tableFor(undefined);

  function tableFor(role: Role | undefined): MemoryTable {
    const sync: MemoryTable['sync'] = {
      get(key) {
        refuseEmptyKey(key);
        return shownTo(role, key, items.get(idOf(key)));
      },
      getMany(keys) {
        if (new Set(keys.map(idOf)).size < keys.length)
          throw new RefusedCall('Provided list of item keys contains duplicates');
        return keys.flatMap((key) => oneOfMany(key) ?? []);
      },
      peek: (key) => items.get(idOf(key)),
      items: () => [...items.values()],
      remove(key) {
        moveInIndex(key, items.get(idOf(key))?.['work'], undefined);
        items.delete(idOf(key));
      },
      replaceAll(others) {
        items.clear();
        byWork.clear();
        for (const item of others) {
          items.set(idOf(item), item);
          moveInIndex({ pk: item.pk, sk: item.sk }, undefined, item['work']);
        }
      },
      expire(nowMs) {
        const expired = [...items].filter(
          ([, item]) => Number(item['expires_at'] ?? Infinity) * 1_000 < nowMs,
        );
        for (const [id, item] of expired) {
          items.delete(id);
          moveInIndex({ pk: item.pk, sk: item.sk }, item['work'], undefined);
        }
        return expired.length;
      },
      update(update) {
        const foreign = role === undefined ? [] : foreignAttributes(ACCESS[role], update);
        if (foreign.length > 0)
          throw new Error(
            `The ${role} is not allowed to write ${foreign.join(', ')} of ${update.key.pk} / ${update.key.sk}`,
          );
        return apply(update);
      },
      queryWork: ({ work, pk }) =>
        [...(byWork.get(work)?.values() ?? [])].flatMap(({ key }) =>
          pk === undefined || key.pk === pk ? [key] : [],
        ),
      queryWorkPage: (query) => pageOf(byWork.get(query.work)?.entries() ?? [], query),
    };
    const oneOfMany = (key: Key) => {
      if (role !== undefined && !readsMany(ACCESS[role], key.pk))
        throw new Error(`The ${role} is not allowed to read many of ${key.pk} at once`);
      return sync.get(key);
    };
    return {
      sync,
      spent,
      as: tableFor,
      get: async (key) => sync.get(key),
      getMany: async (keys) => sync.getMany(keys),
      update: async (update) => sync.update(update),
      queryWork: async (query) => sync.queryWork(query),
      queryWorkPage: async (query) => sync.queryWorkPage(query),
    };
  }

  function apply({ key, set, remove = [], condition }: Update): 'applied' | 'refused' {
    const before = items.get(idOf(key));
    if (condition !== undefined && !holds(condition, before)) {
      spent.base += unitsOf(before);
      return 'refused';
    }
    refuseEmptyKey(key);
    for (const name of KEY_NAMES)
      if (set[name] === '')
        throw new RefusedCall(`The key attribute ${name} cannot contain an empty string value`);
    const after: Record<string, Attribute | undefined> = { ...before, ...key };
    for (const [name, value] of Object.entries(set)) if (value !== undefined) after[name] = clone(value);
    for (const name of remove) delete after[name];
    if (itemBytes(after as Item) > ITEM_BYTES_MAX)
      throw new RefusedCall('Item size to update has exceeded the maximum allowed size');
    items.set(idOf(key), after as Item);
    spent.base += Math.max(unitsOf(before), unitsOf(after as Item));
    if (before?.['work'] !== after['work']) {
      spent.index += Number(before?.['work'] !== undefined) + Number(after['work'] !== undefined);
      moveInIndex({ pk: key.pk, sk: key.sk }, before?.['work'], after['work']);
    }
    return 'applied';
  }

  function moveInIndex(key: Key, before: unknown, after: unknown): void {
    byWork.get(before)?.delete(idOf(key));
    if (after === undefined) return;
    const members = byWork.get(after) ?? new Map<string, NumberedKey>();
    number += 1;
    byWork.set(after, members.set(idOf(key), { key, number }));
  }
}

/**
 * Pages through the keys in the order in which they entered the index. The number of the last key marks the end of a
 * page, even when that key has left the index.
 */
function pageOf(
  members: Iterable<readonly [string, NumberedKey]>,
  { pk, limit, start }: WorkPageQuery,
): WorkPage {
  const after = Number(start?.['number'] ?? 0);
  const keys: Key[] = [];
  let lastNumber = after;
  for (const [, { key, number }] of members) {
    if (number <= after || (pk !== undefined && key.pk !== pk)) continue;
    if (keys.length === limit) return { keys, next: { number: String(lastNumber) } };
    keys.push(key);
    lastNumber = number;
  }
  return { keys, next: undefined };
}

function shownTo(role: Role | undefined, key: Key, item: Item | undefined): Item | undefined {
  if (role === undefined) return item;
  const names = readableAttributes(ACCESS[role], key.pk);
  if (names === undefined) throw new Error(`The ${role} is not allowed to read ${key.pk} / ${key.sk}`);
  if (item === undefined) return undefined;
  const known = SHOWN.get(names) ?? new WeakMap<Item, Item>();
  SHOWN.set(names, known);
  const before = known.get(item);
  if (before !== undefined) return before;
  const allowed = setOf(names);
  const shown: Record<string, Attribute | undefined> = { pk: key.pk, sk: key.sk };
  for (const name in item) if (allowed.has(name)) shown[name] = item[name];
  known.set(item, shown as Item);
  return shown as Item;
}

/** An item is replaced and never changed, so what a list of names shows of it is made once. */
const SHOWN = new WeakMap<readonly string[], WeakMap<Item, Item>>();

/** Every access names the same few lists again, so each of them becomes a set once. */
function setOf(names: readonly string[]): ReadonlySet<string> {
  const known = SETS.get(names) ?? new Set(names);
  SETS.set(names, known);
  return known;
}

const SETS = new WeakMap<readonly string[], ReadonlySet<string>>();

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

/**
 * Copies as DynamoDB does, so that a caller cannot change a stored item through its argument. Undefined members are
 * dropped. Throws `TypeError` for a number that DynamoDB does not have.
 */
function clone(value: Attribute): Attribute {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`DynamoDB has no ${value}`);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(clone);
  const copy: Record<string, Attribute> = {};
  for (const [name, part] of Object.entries(value)) if (part !== undefined) copy[name] = clone(part);
  return copy;
}

function unitsOf(item: Item | undefined): number {
  return item === undefined ? 1 : Math.max(1, Math.ceil(itemBytes(item) / BYTES_PER_WRITE_UNIT));
}

/** An item is replaced and never changed, and each one is measured both as it comes and as it goes. */
const BYTES_OF = new WeakMap<Item, number>();

export function itemBytes(item: Item): number {
  const bytes = BYTES_OF.get(item) ?? sizeBytesOf(item);
  BYTES_OF.set(item, bytes);
  return bytes;
}

/**
 * Approximates DynamoDB's rule: names and texts in UTF-8, one byte per two digits of a number, and a few bytes per
 * structure.
 */
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
