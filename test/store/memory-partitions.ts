/** Implements `TablePartitions` over the in-memory table. The same suite runs on it and on DynamoDB. */

import type { TablePartitions } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

/** A small page shows that a reader goes on to the next one. */
export function createMemoryPartitions(table: MemoryTable, itemsPerPage = 2): TablePartitions {
  return {
    async readPartition({ partition, start }) {
      const left = table.sync
        .items()
        .filter(({ pk, sk }) => pk === partition && (start?.['sk'] === undefined || sk > start['sk']))
        .toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
      const items = left.slice(0, itemsPerPage);
      const last = items.at(-1);
      const isMore = left.length > itemsPerPage && last !== undefined;
      return { items, next: isMore ? { pk: last.pk, sk: last.sk } : undefined };
    },
  };
}
