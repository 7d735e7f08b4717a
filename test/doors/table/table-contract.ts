/**
 * The contract of the table's ports, whatever stands behind them: what is taken, what is refused as DynamoDB refuses it, and what a page
 * holds. DynamoDB's limits are written out here, so that a wrong one in the product does not move them.
 */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import {
  type Attribute,
  type Condition,
  CREATED_INDEX,
  INDEXES,
  type IndexPosition,
  type Item,
  type Key,
  KeysUnreadError,
  type Table,
  type TableIndexes,
  type TablePartitions,
} from '../../../shared/store/table.ts';

export interface TableUnderTest {
  readonly table: Table;
  /** A model without these ports leaves them out. */
  readonly indexes?: TableIndexes;
  readonly partitions?: TablePartitions;
}

/** Such a table hands keys back unread, and shows what was true before the last write to whoever does not ask for consistency. */
export interface TroubledTable extends TableUnderTest {
  readonly partitions: TablePartitions;
}

const REFUSED = { name: 'ValidationException' };

/** DynamoDB Developer Guide, "Quotas": an item has at most 400 KB, names and values together. */
const ITEM_BYTES_MAX = 400 * 1_024;

/** DynamoDB API Reference, Query: a page ends at 1 MB. */
const PAGE_BYTES_MAX = 1_024 * 1_024;

/** More keys than three calls of BatchGetItem take, which has at most 100. */
const MANY = 350;

/** All tests may share one table, so each has a partition of its own. */
let partitionCount = 0;
const freshPartition = () => {
  partitionCount += 1;
  return `A#contract#${partitionCount}`;
};
const freshKey = (): Key => ({ pk: freshPartition(), sk: 'OP#1' });

export function describeTable(name: string, open: () => TableUnderTest): void {
  describe(`${name}, one item`, () => {
    test('is as it was written, and what is undefined is left alone', async () => {
      const [{ table }, key] = [open(), freshKey()];
      const nested = { list: [1, 'two', null, true, { deep: '' }], empty: {}, text: '' };
      expect(await table.get(key)).toBeUndefined();
      await table.update({ key, set: { nested, status: 'running', gone: 1 } });
      await table.update({ key, set: { status: undefined, count: 2 }, remove: ['gone', 'never'] });

      expect(await table.get(key)).toEqual({ ...key, nested, status: 'running', count: 2 });
    });

    test('is written when the condition holds, and otherwise stays as it was', async () => {
      const { table } = open();
      const seeded = seededRandom(20261125);
      const random = () => seeded.next();
      let refusedCount = 0;
      for (let round = 0; round < 120; round++) {
        const key = freshKey();
        const before = random() < 0.2 ? undefined : drawAttributes(random);
        if (before !== undefined) await table.update({ key, set: before });
        const condition = drawCondition(random, 2);
        const outcome = await table.update({ key, set: { written: round }, condition });
        const expected = holds(condition, before) ? 'applied' : 'refused';

        expect(outcome, JSON.stringify({ before, condition })).toBe(expected);
        expect((await table.get(key))?.['written']).toBe(expected === 'applied' ? round : undefined);
        refusedCount += Number(expected === 'refused');
      }
      expect(refusedCount).toBeGreaterThan(20);
      expect(refusedCount).toBeLessThan(100);
    });

    test('of almost 400 KB is taken, and a larger one is refused and changes nothing', async () => {
      const [{ table }, key] = [open(), freshKey()];
      const text = (bytes: number) => 'x'.repeat(bytes);
      await table.update({ key, set: { text: text(ITEM_BYTES_MAX - 1_024), status: 'running' } });

      await expect(
        table.update({ key, set: { text: text(ITEM_BYTES_MAX), status: 'finished' } }),
      ).rejects.toMatchObject(REFUSED);
      await expect(
        table.update({ key, set: { further: text(2_048), status: 'finished' } }),
      ).rejects.toMatchObject(REFUSED);
      const kept = await table.get(key);
      expect([kept?.['status'], lengthOf(kept?.['text'])]).toEqual(['running', ITEM_BYTES_MAX - 1_024]);
      expect(kept).not.toHaveProperty('further');
    });

    test.each(['pk', 'sk'] as const)('with an empty %s is refused', async (part) => {
      const key = { ...freshKey(), [part]: '' };

      await expect(open().table.update({ key, set: { status: 'running' } })).rejects.toMatchObject(REFUSED);
    });

    test.each(['pk', 'sk'] as const)('with an empty %s is never read', async (part) => {
      const { table } = open();
      const key = { ...freshKey(), [part]: '' };

      await expect(table.get(key)).rejects.toMatchObject(REFUSED);
      await expect(table.getMany([freshKey(), key])).rejects.toMatchObject(REFUSED);
    });

    test.each(indexKeys())(
      'with an empty index key %s is refused, and nothing of the write is kept',
      async (part) => {
        const [{ table }, key] = [open(), freshKey()];
        await table.update({ key, set: { status: 'running' } });

        await expect(table.update({ key, set: { status: 'finished', [part]: '' } })).rejects.toMatchObject(
          REFUSED,
        );
        expect(await table.get(key)).toEqual({ ...key, status: 'running' });
      },
    );
  });

  describe(`${name}, many items`, () => {
    test('are read at once, more than one call of DynamoDB takes, and those that do not exist are missing', async () => {
      const { table } = open();
      const keys = manyKeys(MANY);
      for (const key of keys.filter((_, index) => index % 3 > 0))
        await table.update({ key, set: { status: 'running' } });
      const read = await table.getMany(keys);

      expect(read.map(({ sk }) => sk).toSorted()).toEqual(
        keys
          .filter((_, index) => index % 3 > 0)
          .map(({ sk }) => sk)
          .toSorted(),
      );
      expect(await table.getMany([])).toEqual([]);
    });

    test('with two equal keys are refused as DynamoDB does, or each is read once', async () => {
      const [{ table }, key] = [open(), freshKey()];
      await table.update({ key, set: { status: 'running' } });
      const outcome = await table.getMany([key, { ...key }]).catch((error: unknown) => error);

      if (outcome instanceof Error) expect(outcome).toMatchObject(REFUSED);
      else expect(outcome).toEqual([{ ...key, status: 'running' }]);
    });

    test('of the work index are its keys, page by page, and no others', async () => {
      const { table } = open();
      const [work, keys] = [freshPartition(), manyKeys(25)];
      for (const key of keys) await table.update({ key, set: { work } });
      await table.update({ key: keys[0] ?? freshKey(), set: {}, remove: ['work'] });
      const expected = keys
        .slice(1)
        .map(({ sk }) => sk)
        .toSorted();
      const read: Key[] = [];
      let start: IndexPosition | undefined;
      for (let pages = 0; pages < 10; pages++) {
        const page = await table.queryWorkPage({ work, limit: 7, start });
        expect(page.keys.length).toBeLessThanOrEqual(7);
        read.push(...page.keys);
        start = page.next;
        if (start === undefined) break;
      }

      expect(read.map(({ sk }) => sk).toSorted()).toEqual(expected);
      expect((await table.queryWork({ work })).map(({ sk }) => sk).toSorted()).toEqual(expected);
      expect(await table.queryWork({ work, pk: 'A#another' })).toEqual([]);
    });
  });

  const { indexes, partitions } = portsOf(open);
  if (indexes)
    describe(`${name}, its indexes`, () => {
      test('show keys in the order that was asked for, behind a sort key, page by page', async () => {
        const { table, indexes: port } = open();
        const pk = freshPartition();
        const times = Array.from(
          { length: 12 },
          (_, second) => `2026-01-16T21:00:${String(second).padStart(2, '0')}Z`,
        );
        for (const [index, created_at] of times.entries())
          await table.update({ key: { pk, sk: `OP#${index}` }, set: { created_at } });
        await table.update({ key: { pk, sk: 'OP#without' }, set: { status: 'running' } });
        const read = async (newestFirst: boolean, after?: string) => {
          const found: string[] = [];
          let start: IndexPosition | undefined;
          for (let pages = 0; pages < 10; pages++) {
            const page = await port?.query({
              index: CREATED_INDEX,
              partition: pk,
              after,
              newestFirst,
              limit: 5,
              start,
            });
            found.push(...(page?.keys ?? []).map(({ sortKey }) => sortKey));
            start = page?.next;
            if (start === undefined) return found;
          }
          return found;
        };

        expect(await read(false)).toEqual(times);
        expect(await read(true)).toEqual(times.toReversed());
        expect(await read(false, times[3])).toEqual(times.slice(4));
      });
    });

  if (partitions)
    describe(`${name}, a partition`, () => {
      test('is read to its end in pages of at most 1 MB', async () => {
        const { table, partitions: port } = open();
        const pk = freshPartition();
        const large = 'x'.repeat(300 * 1_024);
        for (let index = 0; index < 7; index++)
          await table.update({ key: { pk, sk: `OP#${index}` }, set: { status: large } });
        const read: Item[] = [];
        let start: IndexPosition | undefined;
        let pageCount = 0;
        do {
          const page = await port?.readPartition({ partition: pk, start });
          const bytes = (page?.items ?? []).reduce((sum, { status }) => sum + lengthOf(status), 0);
          // The item at which the limit is reached may still be in the page.
          expect(bytes).toBeLessThanOrEqual(PAGE_BYTES_MAX + large.length);
          read.push(...(page?.items ?? []));
          start = page?.next;
          pageCount += 1;
        } while (start !== undefined && pageCount < 20);

        expect(pageCount).toBeGreaterThan(1);
        expect(read.map(({ sk }) => sk)).toEqual(Array.from({ length: 7 }, (_, index) => `OP#${index}`));
      });
    });
}

/** What asks for consistency is told the last write, and keys that were left unread are read again or named. */
export function describeTroubledTable(name: string, open: () => TroubledTable): void {
  describe(`${name}, which lags and leaves keys unread`, () => {
    test('shows the last write to each read that asks for consistency, and not to one that may lag', async () => {
      const { table, partitions, indexes } = open();
      const [first, second] = manyKeys(2);
      if (first === undefined || second === undefined) throw new Error('There are two keys');
      for (const status of ['queued', 'running', 'finished'])
        for (const key of [first, second]) await table.update({ key, set: { status } });
      const statusesOf = (items: readonly Item[]) => items.map(({ status }) => status);

      expect((await table.get(first))?.['status']).toBe('finished');
      const read = await table.getMany([first, second]).catch(itemsRead);
      expect(statusesOf(read)).toEqual(read.map(() => 'finished'));
      const partition = first.pk;
      const whole = await partitions.readPartition({ partition });
      expect(statusesOf(whole.items)).toEqual(['finished', 'finished']);
      const late = await partitions.readPartition({ partition, mayLag: true });
      expect(statusesOf(late.items)).not.toEqual(['finished', 'finished']);
      await table.update({
        key: { pk: partition, sk: 'OP#new' },
        set: { created_at: '2026-01-16T21:00:00Z' },
      });
      const shown = await indexes?.query({ index: CREATED_INDEX, partition, limit: 5 });
      expect(shown?.keys ?? []).toEqual([]);
    });

    test('gives every key that it was asked for, or names exactly those that were left unread', async () => {
      const { table } = open();
      const keys = manyKeys(MANY);
      for (const key of keys) await table.update({ key, set: { status: 'running' } });
      const outcome = await table.getMany(keys).catch((error: unknown) => error);

      const unread = outcome instanceof KeysUnreadError ? outcome.unread : [];
      const items = outcome instanceof KeysUnreadError ? outcome.items : (outcome as readonly Item[]);
      expect([...items, ...unread].map(({ sk }) => sk).toSorted()).toEqual(keys.map(({ sk }) => sk));
      expect(items.length).toBeGreaterThan(0);
    });
  });
}

function itemsRead(error: unknown): readonly Item[] {
  if (error instanceof KeysUnreadError) return error.items;
  throw error;
}

/** Which ports there are is known before the table is open. */
function portsOf(open: () => TableUnderTest): { readonly indexes: boolean; readonly partitions: boolean } {
  const { indexes, partitions } = open();
  return { indexes: indexes !== undefined, partitions: partitions !== undefined };
}

/** A text of 400 KB in the report of a failure would hide everything else. */
function lengthOf(value: Attribute | undefined): number {
  return typeof value === 'string' ? value.length : 0;
}

function indexKeys(): readonly string[] {
  const names = INDEXES.flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey]);
  return [...new Set(names)].filter((name) => name !== 'pk');
}

function manyKeys(count: number): readonly Key[] {
  const pk = freshPartition();
  return Array.from({ length: count }, (_, index) => ({ pk, sk: `OP#${String(index).padStart(4, '0')}` }));
}

type Random = () => number;

const NAMES = ['a', 'b', 'c'] as const;

function drawValue(random: Random): string | number {
  return random() < 0.5 ? Math.floor(random() * 4) : (['', 'm', 'n', 'z'][Math.floor(random() * 4)] ?? '');
}

function drawAttributes(random: Random): Readonly<Record<string, Attribute>> {
  const drawn = NAMES.filter(() => random() < 0.7).map((name) => [name, drawValue(random)] as const);
  return { present: 1, ...Object.fromEntries(drawn) };
}

function drawCondition(random: Random, depth: number): Condition {
  const name = NAMES[Math.floor(random() * NAMES.length)] ?? 'a';
  const choice = Math.floor(random() * (depth > 0 ? 5 : 3));
  if (choice === 0) return { kind: 'absent', name };
  if (choice === 1) return { kind: 'equals', name, value: drawValue(random) };
  if (choice === 2) return { kind: 'less', name, value: drawValue(random) };
  const of = Array.from({ length: 1 + Math.floor(random() * 3) }, () => drawCondition(random, depth - 1));
  return { kind: choice === 3 ? 'any' : 'all', of };
}

/** DynamoDB Developer Guide, "Condition and filter expressions": values of two types are neither equal nor less. */
function holds(condition: Condition, item: Readonly<Record<string, Attribute>> | undefined): boolean {
  switch (condition.kind) {
    case 'absent':
      return item?.[condition.name] === undefined;
    case 'equals':
      return item?.[condition.name] === condition.value;
    case 'less': {
      const found = item?.[condition.name];
      if (typeof found === 'number' && typeof condition.value === 'number') return found < condition.value;
      return typeof found === 'string' && typeof condition.value === 'string' && found < condition.value;
    }
    case 'any':
      return condition.of.some((part) => holds(part, item));
    case 'all':
      return condition.of.every((part) => holds(part, item));
  }
}
