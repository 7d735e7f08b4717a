/**
 * Reads together what the accounts of a lane ask the table for at nearly the same time, because a call costs the
 * processor ten times as much as one more item in it.
 */

import type { Clock } from '../runtime/clock.ts';
import { type Item, type Key, KeysUnreadError, keyText, type Table, type WorkPage } from './table.ts';
import { type Access, type Partition, partitionOf } from './table-access.ts';

/**
 * After a read, those that are asked for within this time are read together at its end. An account with nothing beside
 * it waits for none of its first reads, and a transition is published at most this much later.
 */
const GATHER_MS = 25;

/** One BatchGetItem call takes at most this many keys (DynamoDB API Reference, BatchGetItem). */
const KEYS_MAX = 100;

interface Waiting {
  readonly key: Key;
  readonly resolve: (item: Item | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Every item is still read after it was asked for, consistently, so the order in which a poll reads the table and the
 * upstream stays (ADR 2). Only items of partitions of which the role may read many at once are read together.
 */
export function gatherReads(table: Table, { readsMany }: Pick<Access, 'readsMany'>, clock: Clock): Table {
  const gatherings = new Map(readsMany.map((partition) => [partition, createGathering(table, clock)]));
  const queryWorkPage = shareFirstPages(table);
  return {
    get(key) {
      const gathering = gatherings.get(partitionOf(key.pk) as Partition);
      return gathering === undefined ? table.get(key) : gathering(key);
    },
    getMany: (keys) => table.getMany(keys),
    update: (update) => table.update(update),
    queryWork: (query) => table.queryWork(query),
    queryWorkPage,
  };
}

/** All items of one gathering are of one partition, because each statement of the role allows one. */
function createGathering(table: Table, clock: Clock): Table['get'] {
  const waiting: Waiting[] = [];
  let isGathering = false;

  const send = () => {
    const batch = waiting.splice(0, KEYS_MAX);
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

/**
 * Several loops of an account begin with the first page of its work. While one of them reads the page, the others wait
 * for it, and take it if it is all of the work. The index may lag behind in any case.
 */
function shareFirstPages(table: Table): Table['queryWorkPage'] {
  const underWay = new Map<string, Promise<WorkPage>>();
  return async (query) => {
    const { work, pk, start, limit } = query;
    if (pk !== undefined || start !== undefined) return table.queryWorkPage(query);
    const before = underWay.get(work);
    if (before !== undefined) {
      const shared = await before.catch(() => undefined);
      if (shared !== undefined && shared.next === undefined && shared.keys.length <= limit) return shared;
    }
    const asked = table.queryWorkPage(query);
    underWay.set(work, asked);
    try {
      return await asked;
    } finally {
      if (underWay.get(work) === asked) underWay.delete(work);
    }
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
