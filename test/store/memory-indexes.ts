/** Implements `TableIndexes` over the in-memory table. The same suite runs on it and on DynamoDB. */

import type { Attribute, Item, TableIndexes } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

/**
 * `shownAs` returns the sort key that a lagging index shows of an item at present, or undefined when the item is not
 * in it yet.
 */
export function createMemoryIndexes(
  table: MemoryTable,
  shownAs: (item: Item, sortKey: string) => string | undefined = (item, sortKey) => textOf(item[sortKey]),
): TableIndexes {
  return {
    async query({ index, partition, after, newestFirst = false, limit, start }) {
      // DynamoDB refuses an empty text as a value of a key.
      if (after === '') throw new Error('A key of an index is never compared with an empty text');
      const sign = newestFirst ? -1 : 1;
      const from = start && [start[index.sortKey] ?? '', start['pk'] ?? '', start['sk'] ?? ''];
      const left = table.sync
        .items()
        .filter((item) => item[index.partitionKey] === partition && item[index.sortKey] !== undefined)
        .flatMap((item) => {
          const sortKey = shownAs(item, index.sortKey);
          return sortKey === undefined ? [] : [{ pk: item.pk, sk: item.sk, sortKey }];
        })
        .filter(({ sortKey }) => after === undefined || sortKey > after)
        .toSorted((a, b) => compare(orderOf(a), orderOf(b)) * sign)
        .filter((row) => from === undefined || compare(orderOf(row), from) * sign > 0);
      const keys = left.slice(0, limit);
      const last = keys.at(-1);
      const isMore = left.length > limit && last !== undefined;
      return {
        keys,
        next: isMore
          ? { pk: last.pk, sk: last.sk, [index.partitionKey]: partition, [index.sortKey]: last.sortKey }
          : undefined,
      };
    },
  };
}

function orderOf({
  pk,
  sk,
  sortKey,
}: {
  readonly pk: string;
  readonly sk: string;
  readonly sortKey: string;
}) {
  return [sortKey, pk, sk];
}

function textOf(value: Attribute | undefined): string {
  return typeof value === 'string' ? value : '';
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (const [place, part] of a.entries()) {
    const other = b[place] ?? '';
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}
