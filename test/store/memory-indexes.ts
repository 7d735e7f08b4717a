/** Implements `TableIndexes` over the in-memory table. The same suite runs on it and on DynamoDB. */

import type { Attribute, Item, TableIndexes } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

/** An index orders its items by these three. */
interface Row {
  readonly sortKey: string;
  readonly pk: string;
  readonly sk: string;
}

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
      const from = start && {
        sortKey: start[index.sortKey] ?? '',
        pk: start['pk'] ?? '',
        sk: start['sk'] ?? '',
      };
      const rows: Row[] = [];
      for (const item of table.sync.items()) {
        if (item[index.partitionKey] !== partition || item[index.sortKey] === undefined) continue;
        const sortKey = shownAs(item, index.sortKey);
        if (sortKey === undefined || (after !== undefined && sortKey <= after)) continue;
        const row = { pk: item.pk, sk: item.sk, sortKey };
        if (from === undefined || compare(row, from) * sign > 0) rows.push(row);
      }
      const left = rows.sort((a, b) => compare(a, b) * sign);
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

function textOf(value: Attribute | undefined): string {
  return typeof value === 'string' ? value : '';
}

function compare(a: Row, b: Row): number {
  if (a.sortKey !== b.sortKey) return a.sortKey < b.sortKey ? -1 : 1;
  if (a.pk !== b.pk) return a.pk < b.pk ? -1 : 1;
  if (a.sk !== b.sk) return a.sk < b.sk ? -1 : 1;
  return 0;
}
