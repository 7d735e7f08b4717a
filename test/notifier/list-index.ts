/**
 * Keeps the list index of a table in memory up to date, because storms and months of virtual time query it many
 * thousand times.
 */

import type { Item, TableIndexes } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';

interface Row {
  readonly pk: string;
  readonly sk: string;
  readonly sortKey: string;
}

export function createListIndex(table: MemoryTable): TableIndexes {
  const partitions = new Map<
    string,
    { readonly rows: Map<string, Row>; sorted: readonly Row[] | undefined }
  >();
  const placeOf = new Map<string, string>();
  const partitionOf = (name: string) => {
    const found = partitions.get(name) ?? { rows: new Map<string, Row>(), sorted: undefined };
    partitions.set(name, found);
    return found;
  };
  const note = (item: Item | undefined) => {
    if (item === undefined) return;
    const id = `${item.pk}\n${item.sk}`;
    const before = placeOf.get(id);
    if (before !== undefined) {
      partitionOf(before).rows.delete(id);
      partitionOf(before).sorted = undefined;
      placeOf.delete(id);
    }
    const { list, list_order: sortKey } = item;
    if (typeof list !== 'string' || typeof sortKey !== 'string') return;
    partitionOf(list).rows.set(id, { pk: item.pk, sk: item.sk, sortKey });
    partitionOf(list).sorted = undefined;
    placeOf.set(id, list);
  };
  const sync = table.sync as { update: MemoryTable['sync']['update'] };
  const { update } = sync;
  sync.update = (change) => {
    const result = update(change);
    if (result === 'applied') note(table.sync.peek(change.key));
    return result;
  };
  return {
    async query({ index, partition, after, newestFirst = false, limit, start }) {
      if (index.name !== 'list' || newestFirst) throw new Error('The notifier reads the list index forwards');
      const found = partitionOf(partition);
      found.sorted ??= [...found.rows.values()].toSorted((a, b) => compare(orderOf(a), orderOf(b)));
      const from = start && `${start['list_order']}\n${start['pk']}\n${start['sk']}`;
      const left = found.sorted.filter(
        (row) => (after === undefined || row.sortKey > after) && (from === undefined || orderOf(row) > from),
      );
      const keys = left.slice(0, limit);
      const last = keys.at(-1);
      const isMore = left.length > limit && last !== undefined;
      return {
        keys,
        next: isMore ? { pk: last.pk, sk: last.sk, list: partition, list_order: last.sortKey } : undefined,
      };
    },
  };
}

function orderOf({ pk, sk, sortKey }: Row): string {
  return `${sortKey}\n${pk}\n${sk}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
