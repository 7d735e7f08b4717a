/** `Table` in memory, with DynamoDB's conditions, sparse index and write units; the simulation adds faults around it. */

import { ACCESS, type Role } from '../../infra/aws/roles.ts';
import { foreignAttributes, readableAttributes, readsMany } from '../../shared/store/access.ts';
import type {
  Attribute,
  Condition,
  CountedMembers,
  Item,
  Key,
  MemberIncrement,
  Table,
  TableCounters,
  Update,
  WorkPage,
  WorkPageQuery,
  WorkQuery,
} from '../../shared/store/table.ts';

export interface MemoryTable extends Table, TableCounters {
  /** The same calls without promises: the simulation decides when they happen. */
  readonly sync: {
    get(key: Key): Item | undefined;
    /** The whole item, whoever asks. */
    peek(key: Key): Item | undefined;
    incrementMembers(increment: MemberIncrement): CountedMembers | 'refused';
    update(update: Update): 'applied' | 'refused';
    queryWork(query: WorkQuery): readonly Key[];
    queryWorkPage(query: WorkPageQuery): WorkPage;
    items(): readonly Item[];
    /** What DynamoDB does by itself when an item has expired. */
    remove(key: Key): void;
    /** What an operator does: the whole table as it was at another time. */
    replaceAll(items: readonly Item[]): void;
    /** Deletes the items whose `expires_at` has passed, and gives their number. */
    expire(nowMs: number): number;
  };
  readonly spent: WriteUnits;
  /** The same items as a function sees them: what its role may not read is not there, what it may not do throws. */
  as(role: Role): MemoryTable;
}

/** Write request units so far. A refused conditional write is billed like one that was applied. */
export interface WriteUnits {
  base: number;
  /** Puts and deletes of the index: an update that leaves the index key alone costs nothing there. */
  index: number;
}

interface NumberedKey {
  readonly key: Key;
  readonly number: number;
}

const BYTES_PER_WRITE_UNIT = 1_024;

/** Without `as`, whoever uses it may do everything. */
export function createMemoryTable(): MemoryTable {
  const items = new Map<string, Item>();
  const spent: WriteUnits = { base: 0, index: 0 };
  const idOf = ({ pk, sk }: Key) => `${pk}\n${sk}`;
  const byWork = new Map<unknown, Map<string, NumberedKey>>();
  let number = 0;
  return tableFor(undefined);

  function tableFor(role: Role | undefined): MemoryTable {
    const sync: MemoryTable['sync'] = {
      get: (key) => shownTo(role, key, items.get(idOf(key))),
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
            `The ${role} may not write ${foreign.join(', ')} of ${update.key.pk} / ${update.key.sk}`,
          );
        return apply(update);
      },
      incrementMembers({ key, total, members: { name, by, windowName, window }, startsOver }) {
        const item = sync.peek(key);
        const knownWindow = item?.[windowName] as number | undefined;
        const isThere = item?.[name] !== undefined && knownWindow !== undefined;
        if (startsOver && isThere && knownWindow >= window) return 'refused';
        if (!startsOver && item?.[name] === undefined && Object.keys(by).length > 0) return 'refused';
        const before = (startsOver ? {} : (item?.[name] ?? {})) as Readonly<Record<string, number>>;
        const added = Object.entries(by).map(([member, count]) => [member, (before[member] ?? 0) + count]);
        const sums = Object.fromEntries(added) as Record<string, number>;
        const sum = Number(item?.[total.name] ?? 0) + total.by;
        const now = startsOver ? window : (knownWindow ?? window);
        sync.update({ key, set: { [total.name]: sum, [name]: { ...before, ...sums }, [windowName]: now } });
        return { total: sum, window: now, members: sums };
      },
      queryWork: ({ work, pk }) =>
        [...(byWork.get(work)?.values() ?? [])].flatMap(({ key }) =>
          pk === undefined || key.pk === pk ? [key] : [],
        ),
      queryWorkPage: (query) => pageOf(byWork.get(query.work)?.entries() ?? [], query),
    };
    const oneOfMany = (key: Key) => {
      if (role !== undefined && !readsMany(ACCESS[role], key.pk))
        throw new Error(`The ${role} may not read many of ${key.pk} at once`);
      return sync.get(key);
    };
    return {
      sync,
      spent,
      as: tableFor,
      get: async (key) => sync.get(key),
      getMany: async (keys) => keys.flatMap((key) => oneOfMany(key) ?? []),
      update: async (update) => sync.update(update),
      queryWork: async (query) => sync.queryWork(query),
      queryWorkPage: async (query) => sync.queryWorkPage(query),
      incrementMembers: async (increment) => sync.incrementMembers(increment),
    };
  }

  function apply({ key, set, remove = [], condition }: Update): 'applied' | 'refused' {
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
  }

  function moveInIndex(key: Key, before: unknown, after: unknown): void {
    byWork.get(before)?.delete(idOf(key));
    if (after === undefined) return;
    const members = byWork.get(after) ?? new Map<string, NumberedKey>();
    number += 1;
    byWork.set(after, members.set(idOf(key), { key, number }));
  }
}

/** In the order in which the keys came into the index: the number of each says where a page ended, also once it is gone. */
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
  if (names === undefined) throw new Error(`The ${role} may not read ${key.pk} / ${key.sk}`);
  if (item === undefined) return undefined;
  const shown: Record<string, Attribute | undefined> = { ...key };
  for (const name of names) if (item[name] !== undefined) shown[name] = item[name];
  return shown as Item;
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
