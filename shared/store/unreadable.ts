/** Handles items that cannot be read: each is logged once, counted every time, skipped, and left as it is. */

import type * as z from 'zod';
import { AppError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Item, Key } from './table.ts';

/** Holds the item's key and the fields at fault. Their values are left out, because they may be secret. */
export interface UnreadableItem {
  readonly key: Key;
  readonly fields: readonly string[];
}

export type NoteUnreadable = (item: UnreadableItem) => void;

/**
 * It is thrown when a single item that was asked for cannot be read. Only the caller that needs this item cannot
 * continue.
 */
export class UnreadableItemError extends AppError {
  readonly item: UnreadableItem;

  constructor(item: UnreadableItem) {
    const { key, fields } = item;
    super(
      'item_unreadable',
      `Item ${itemName(key)} does not parse; look at: ${fields.join(', ')}. It is kept as it is.`,
    );
    this.item = item;
  }
}

/** Names an item in a line of the log. */
export function itemName({ pk, sk }: Key): string {
  return `${pk} / ${sk}`;
}

/** Names the fields of an item that do not parse. */
export function unreadableOf({ pk, sk }: Item, { issues }: z.ZodError): UnreadableItem {
  return { key: { pk, sk }, fields: issues.map(({ path }) => path.join('.')) };
}

/** Throws `UnreadableItemError`, which is noted, when the item does not have the form. */
export function readable<Schema extends z.ZodType>(
  schema: Schema,
  item: Item,
  noteUnreadable: NoteUnreadable,
): z.output<Schema> {
  const result = schema.safeParse(item);
  if (result.success) return result.data;
  const unreadable = unreadableOf(item, result.error);
  noteUnreadable(unreadable);
  throw new UnreadableItemError(unreadable);
}

export function isUnreadable(error: unknown): error is UnreadableItemError {
  return error instanceof UnreadableItemError;
}

/** Reads for a caller that can do without the item. The read itself has already noted that the item cannot be read. */
export async function unlessUnreadable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/**
 * One process logs at most this many keys. A rollback can leave every item unreadable, and a thousand keys show what
 * they have in common.
 */
const LOGGED_KEYS_MAX = 1_000;

/** One line names at most this many fields, because a damaged item can have hundreds of faulty entries. */
const LOGGED_FIELDS_MAX = 10;

/** The metric counts every time, so that the alarm stays on while the item exists. The log names each key once. */
export function createUnreadableNotes(telemetry: Telemetry): NoteUnreadable {
  const logged = new Set<string>();
  return ({ key, fields }) => {
    telemetry.measure('ItemsUnreadable', 1);
    const name = itemName(key);
    if (logged.has(name) || logged.size > LOGGED_KEYS_MAX) return;
    logged.add(name);
    if (logged.size > LOGGED_KEYS_MAX)
      telemetry.log('error', 'item.unreadable_unnamed', { logged_key_count: LOGGED_KEYS_MAX });
    else
      telemetry.log('error', 'item.unreadable', {
        item: name,
        fields: fields.slice(0, LOGGED_FIELDS_MAX).join(', '),
      });
  };
}

/** This is for callers that have no telemetry, such as command line tools. */
export const ignoreUnreadable: NoteUnreadable = () => {};
