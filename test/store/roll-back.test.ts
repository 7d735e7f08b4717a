/** Reads items as released versions wrote them with the code of today. Upgrades and roll-backs rely on this. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PARTITIONS } from '../../shared/store/keys.ts';
import type { Item, Table } from '../../shared/store/table.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { readEveryKind, writeEveryKind } from './every-kind.ts';
import { readEveryQueueItem, writeEveryQueueItem } from './every-queue-item.ts';

const read = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8'));
const items = read('items-78d4a65/items.json') as readonly Item[];
const readBack = read('items-78d4a65/read-back.json') as Readonly<Record<string, unknown>>;
const queueItems = read('items-439d847/queue-items.json') as readonly Item[];
const queueReadBack = read('items-439d847/queue-read-back.json') as Readonly<Record<string, unknown>>;

async function tableWith(stored: readonly Item[]): Promise<Table> {
  const table = createMemoryTable();
  for (const { pk, sk, ...set } of stored) await table.update({ key: { pk, sk }, set });
  return table;
}

/** Returns what a key is for, without the ids in it. */
const placeOf = ({ pk, sk }: Item) =>
  [pk.replace(/#.*/, ''), pk.startsWith('READ#') ? 'PROJECT' : sk.replace(/#.*/, '')].join(' ');
const placesIn = (stored: readonly Item[]) => [...new Set(stored.map(placeOf))].toSorted();

describe('items that commit 78d4a65 wrote', () => {
  /** Commit 78d4a65 did not have these partitions. */
  const ADDED_SINCE: ReadonlySet<string> = new Set([
    'CALLER',
    'QUEUE',
    'INSIGHTS',
    'MUTES',
    'INCIDENTS',
    'ACCOUNTS',
    'LANES',
  ]);
  /** The notifier's own suite reads what earlier versions wrote of alerts (`test/notifier/store/older-items.test.ts`). */
  const isAlert = ({ pk }: { readonly pk: string }) => pk.startsWith('ALERT#');

  test('are there of every partition and of every kind that the code writes today', async () => {
    const today = createMemoryTable();
    await writeEveryKind(today);
    const prefixes = Object.values(PARTITIONS)
      .map((partition) => partition.replace(/#.*/, ''))
      .filter((prefix) => !ADDED_SINCE.has(prefix));

    expect(placesIn(items.filter((item) => !isAlert(item)))).toEqual(placesIn(today.sync.items()));
    expect([...new Set(items.map(({ pk }) => pk.replace(/#.*/, '')))].toSorted()).toEqual(
      prefixes.toSorted(),
    );
  });

  test('are read as that commit read them', async () => {
    const now = await readEveryKind(await tableWith(items));

    for (const [name, expected] of Object.entries(readBack)) {
      if (/^(channel|untold on) /.test(name)) continue;
      // What was sent in the last minute is counted in another way today.
      if (name === 'usage') continue;
      // Later versions add fields, and what that commit knew has not changed.
      expect({ [name]: now[name] }).toMatchObject({ [name]: expected });
    }
  });
});

describe('items of the queue that commit 439d847 wrote', () => {
  test('are there of every kind and state that the code writes today', async () => {
    const today = createMemoryTable();
    await writeEveryQueueItem(today);
    const described = (stored: readonly Item[]) =>
      stored.map(({ sk, state }) => JSON.stringify([sk, state])).toSorted();

    // Commit 439d847 knew no commands that a person approves.
    const known = today.sync.items().filter(({ approval }) => approval === undefined);
    expect(described(queueItems)).toEqual(described(known));
  });

  test('are read as that commit read them', async () => {
    expect(await readEveryQueueItem(await tableWith(queueItems))).toMatchObject(queueReadBack);
  });
});
