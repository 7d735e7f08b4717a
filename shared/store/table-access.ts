/**
 * Defines what a function may do with the table: the attributes that it reads and those that it writes, by partition.
 * The function's role is made from this, its adapter asks for no other attributes, and the tests' table refuses what
 * the role would refuse. What the accounts of a lane ask for at nearly the same time is read together, as far as the
 * role allows.
 */

import type { Clock } from '../runtime/clock.ts';
import { PARTITIONS } from './keys.ts';
import {
  type Item,
  type Key,
  KeysUnreadError,
  keyText,
  type Table,
  type Update,
  WORK_INDEX,
} from './table.ts';

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
function partitionOf(pk: string): Partition | undefined {
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

/**
 * After a read, those that are asked for within this time are read together at its end. An account with nothing beside
 * it waits for none of its first reads, and a transition is published at most this much later.
 */
const GATHER_MS = 25;

/** One BatchGetItem call takes at most this many keys (DynamoDB API Reference, BatchGetItem). */
export const BATCH_KEYS_MAX = 100;

interface Waiting {
  readonly key: Key;
  readonly resolve: (item: Item | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Every item is still read after it was asked for, consistently, so the order in which a poll reads the table and the
 * upstream stays (ADR 2). Only items of partitions of which the role may read many at once are read together.
 */
export function gatherReads(table: Table, access: Pick<Access, 'readsMany'>, clock: Clock): Table {
  const gatherings = new Map(access.readsMany.map((partition) => [partition, createGathering(table, clock)]));
  return {
    ...table,
    get(key) {
      const gathering = gatherings.get(partitionOf(key.pk) as Partition);
      return gathering === undefined ? table.get(key) : gathering(key);
    },
  };
}

/** All items of one gathering are of one partition, because each statement of the role allows one. */
function createGathering(table: Table, clock: Clock): Table['get'] {
  const waiting: Waiting[] = [];
  let isGathering = false;

  const send = () => {
    const batch = waiting.splice(0, BATCH_KEYS_MAX);
    if (batch.length === 0) isGathering = false;
    else {
      void readTogether(table, batch);
      void clock.sleep(waiting.length === 0 ? GATHER_MS : 0).then(send);
    }
  };

  return (key) => {
    const { promise, resolve, reject } = Promise.withResolvers<Item | undefined>();
    waiting.push({ key, resolve, reject });
    if (!isGathering) {
      isGathering = true;
      // All accounts of a lane begin in the same step, and ask for their first item in it.
      queueMicrotask(send);
    }
    return promise;
  };
}

/** Only those who asked for a key that was left unread are refused. */
async function readTogether(table: Table, batch: readonly Waiting[]): Promise<void> {
  const settle = (items: readonly (Item | undefined)[]) => {
    const byId = new Map(
      items.flatMap((item) => (item === undefined ? [] : [[keyText(item), item] as const])),
    );
    for (const { key, resolve } of batch) resolve(byId.get(keyText(key)));
  };
  try {
    const keys = new Map(batch.map(({ key }) => [keyText(key), key]));
    const [only] = keys.values();
    settle(
      keys.size === 1 && only !== undefined
        ? [await table.get(only)]
        : await table.getMany([...keys.values()]),
    );
  } catch (error) {
    const unread = error instanceof KeysUnreadError ? new Set(error.unread.map(keyText)) : undefined;
    for (const { key, reject } of batch) if (unread?.has(keyText(key)) !== false) reject(error);
    if (error instanceof KeysUnreadError) settle(error.items);
  }
}
