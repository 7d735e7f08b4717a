/** `TableIndexes` over the in-memory table; the same suite runs on it and on DynamoDB. */

import type { Item, TableIndexes } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

export function createMemoryIndexes(
  table: MemoryTable,
  isVisible: (item: Item) => boolean = () => true,
): TableIndexes {
  return {
    async query({ index, partition, after, newestFirst = false, limit, start }) {
      const orderOf = (item: Item) => [String(item[index.sortKey]), item.pk, item.sk] as const;
      const rows = table.sync
        .items()
        .filter(
          (item) =>
            item[index.partitionKey] === partition && item[index.sortKey] !== undefined && isVisible(item),
        )
        .toSorted((a, b) => compare(orderOf(a), orderOf(b)) * (newestFirst ? -1 : 1));
      const from = start && ([start[index.sortKey] ?? '', start['pk'] ?? '', start['sk'] ?? ''] as const);
      const left = rows.filter((item) => {
        if (after !== undefined && String(item[index.sortKey]) <= after) return false;
        return from === undefined || compare(orderOf(item), from) * (newestFirst ? -1 : 1) > 0;
      });
      const page = left.slice(0, limit);
      const last = page.at(-1);
      return {
        keys: page.map((item) => ({ pk: item.pk, sk: item.sk, sortKey: String(item[index.sortKey]) })),
        next:
          left.length > limit && last !== undefined
            ? {
                pk: last.pk,
                sk: last.sk,
                [index.partitionKey]: partition,
                [index.sortKey]: String(last[index.sortKey]),
              }
            : undefined,
      };
    },
  };
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (const [place, part] of a.entries()) {
    const other = b[place] ?? '';
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}
