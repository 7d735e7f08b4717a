/**
 * What a function may do with the table: by partition, the attributes that it reads and those that it writes. Its role is made
 * of this, its adapter asks for no others, and the table of the tests refuses what the role would.
 */

import { PARTITIONS } from './keys.ts';
import { type Update, WORK_INDEX } from './table.ts';

export type Partition = keyof typeof PARTITIONS;

export type Attributes = Readonly<Partial<Record<Partition, readonly string[]>>>;

export interface Access {
  readonly reads: Attributes;
  /** Where many items are read in one call. */
  readonly readsMany: readonly Partition[];
  /** Also those that are only compared, in the condition of a write. */
  readonly updates: Attributes;
}

export const KEY = ['pk', 'sk'] as const;

/** Of an item that the work index may show, and that ends by itself. */
export const WORK = [...KEY, 'kind', 'expires_at', WORK_INDEX.partitionKey] as const;

/** Entries that the bus refused for good. */
export const PARKED = ['code', 'event', 'parked_at'] as const;

/** The partition that a key stands in; undefined: nobody's. */
export function partitionOf(pk: string): Partition | undefined {
  const names = Object.keys(PARTITIONS) as Partition[];
  return names.find((name) => pk.startsWith(PARTITIONS[name].slice(0, -1)));
}

/** What is read of an item of that partition; undefined: nothing, the item is not this function's business. */
export function readableAttributes(
  { reads }: Pick<Access, 'reads'>,
  pk: string,
): readonly string[] | undefined {
  const partition = partitionOf(pk);
  return partition && reads[partition];
}

/** Whether items of that partition are read many at once. */
export function readsMany(access: Access, pk: string): boolean {
  const partition = partitionOf(pk);
  return partition !== undefined && access.readsMany.includes(partition);
}

/** Names in this update that are not this function's to write or compare. */
export function foreignAttributes(
  { updates }: Access,
  { key, set, remove = [], condition }: Update,
): readonly string[] {
  const partition = partitionOf(key.pk);
  const allowed: ReadonlySet<string> = new Set(partition && updates[partition]);
  const written = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : name));
  const named = [...KEY, ...written, ...remove, ...namesIn(condition)];
  return distinct(named).filter((name) => !allowed.has(name));
}

function namesIn(condition: Update['condition']): readonly string[] {
  if (condition === undefined) return [];
  return 'of' in condition ? condition.of.flatMap(namesIn) : [condition.name];
}

export function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
