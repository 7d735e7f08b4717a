/**
 * Defines what a function may do with the table: the attributes that it reads and those that it writes, by partition.
 * The function's role is made from this, its adapter asks for no other attributes, and the tests' table refuses what
 * the role would refuse.
 */

import { PARTITIONS } from './keys.ts';
import { type Update, WORK_INDEX } from './table.ts';

export type Partition = keyof typeof PARTITIONS;

type Attributes = Readonly<Partial<Record<Partition, readonly string[]>>>;

export interface Access {
  readonly reads: Attributes;
  /** Many items of these partitions are read in one call. */
  readonly readsMany: readonly Partition[];
  /** These include attributes that are only compared, in the condition of a write. */
  readonly updates: Attributes;
}

export const KEY = ['pk', 'sk'] as const;

/** An item that the work index may show and that expires has these attributes. */
export const WORK = [...KEY, 'kind', 'expires_at', WORK_INDEX.partitionKey] as const;

/** A parked event has these attributes. */
export const PARKED = ['code', 'event', 'parked_at'] as const;

const PREFIXES = (Object.keys(PARTITIONS) as Partition[]).map(
  (name) => [name, PARTITIONS[name].slice(0, -1)] as const,
);

/** Returns the partition that a key belongs to, or undefined when it belongs to none. */
export function partitionOf(pk: string): Partition | undefined {
  return PREFIXES.find(([, prefix]) => pk.startsWith(prefix))?.[0];
}

/** Returns the attributes that the function reads of the item, or undefined when it must not read the item at all. */
export function readableAttributes(
  { reads }: Pick<Access, 'reads'>,
  pk: string,
): readonly string[] | undefined {
  const partition = partitionOf(pk);
  return partition && reads[partition];
}

/** Says whether the function reads many items of that partition in one call. */
export function readsMany(access: Access, pk: string): boolean {
  const partition = partitionOf(pk);
  return partition !== undefined && access.readsMany.includes(partition);
}

/** Returns the attributes in this update that the function must not write or compare. */
export function foreignAttributes(
  { updates }: Access,
  { key, set, remove = [], condition }: Update,
): readonly string[] {
  const partition = partitionOf(key.pk);
  const allowed: readonly string[] = (partition && updates[partition]) ?? [];
  const written = Object.keys(set).filter((name) => set[name] !== undefined);
  const named = [...KEY, ...written, ...remove, ...namesIn(condition)];
  return distinct(named.filter((name) => !allowed.includes(name)));
}

function namesIn(condition: Update['condition']): readonly string[] {
  if (condition === undefined) return [];
  return 'of' in condition ? condition.of.flatMap(namesIn) : [condition.name];
}

export function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
