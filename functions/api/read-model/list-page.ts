/**
 * Reads one page of a list: the keys from an index, and then the items in the order of the keys. A cursor is text for
 * whoever asks, and is checked before anything is read with it.
 */

import * as z from 'zod';
import { AppError } from '../../../shared/runtime/errors.ts';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import type { Index, Item, Table, TableIndexes } from '../../../shared/store/table.ts';

/** A request for a page says where a list is read, and how much of it. */
export interface PageRequest {
  /** One page has at most this many items. */
  readonly limit: number;
  /** The cursor comes from the page before. It is undefined for the first page. */
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The next page is read with this cursor. It is undefined when there is nothing more at the moment. */
  readonly next: string | undefined;
}

/** Says whether a filter lets the value through. A filter has one value, or several with commas between them. */
export function isAmong(wanted: string | undefined, value: unknown): boolean {
  return wanted === undefined || wanted.split(',').some((one) => one === value);
}

/** The cursor of the feed has at most four kilobytes, and any other cursor less than two. */
const CURSOR_CHARACTERS_MAX = 6_000;

export function encodeCursor(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Throws `AppError` `cursor_invalid` when the cursor was cut off, made up, or given out by another list. */
export function decodeCursor<Schema extends z.ZodType>(schema: Schema, cursor: string): z.output<Schema> {
  const parsed =
    cursor.length > CURSOR_CHARACTERS_MAX
      ? undefined
      : schema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (parsed?.success === true) return parsed.data;
  throw new AppError('cursor_invalid', 'The cursor is not one that this list gave out; begin without one');
}

export function isCursorFault(error: unknown): boolean {
  return error instanceof AppError && error.code === 'cursor_invalid';
}

/**
 * Returns the schema of a position in an index as the table gave it. It must lie in the partition that the list is
 * about.
 */
export function positionSchema(partitionName: string, partition: string) {
  return z
    .record(z.string(), z.string().max(500))
    .refine((position) => position[partitionName] === partition && Object.keys(position).length <= 5);
}

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
