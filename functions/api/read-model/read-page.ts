/** Reads one page of a list: the keys from an index, and then the items in the order of the keys. */

import type { Index, Item, Table, TableIndexes } from '../../../shared/store/table.ts';
import { decodeCursor, encodeCursor, type Page, type PageRequest, positionSchema } from './page-cursor.ts';

export interface PageDeps {
  readonly table: Table;
  readonly indexes: TableIndexes;
}

export interface List {
  readonly index: Index;
  readonly partition: string;
  readonly newestFirst?: boolean;
}

/** Throws `AppError` `cursor_invalid`. An item that the table has forgotten since is left out. */
export async function readPage(
  { table, indexes }: PageDeps,
  { index, partition, newestFirst = false }: List,
  { limit, cursor }: PageRequest,
): Promise<Page<Item>> {
  const schema = positionSchema(index.partitionKey, partition);
  const start = cursor === undefined ? undefined : decodeCursor(schema, cursor);
  const { keys, next } = await indexes.query({ index, partition, newestFirst, limit, start });
  // The table returns items in any order.
  const items = new Map((await table.getMany(keys)).map((item) => [`${item.pk}\n${item.sk}`, item]));
  return {
    items: keys.flatMap(({ pk, sk }) => items.get(`${pk}\n${sk}`) ?? []),
    next: next && encodeCursor(next),
  };
}
