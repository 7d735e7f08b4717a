/**
 * Keeps counts in items of the table. Who adds to them reads an item and replaces it as a whole, unless another process
 * has replaced it meanwhile.
 */

import * as z from 'zod';
import { type Attribute, type Item, type Key, keyText, type Table } from '../store/table.ts';
import { type NoteUnreadable, unreadableOf } from '../store/unreadable.ts';

export interface StoredCounts<Counts> {
  readonly counts: Counts;
  /** It is 0 while the item does not exist, and each write adds 1. */
  readonly revision: number;
  /** This process has made the latest write. It is empty while there is none. */
  readonly writer: string;
}

interface Adding<Counts, Value> {
  /** Adds the values that have a place. `leftOutCount` is the number of the others. */
  add(
    this: void,
    counts: Counts,
    values: readonly Value[],
  ): { readonly counts: Counts; readonly leftOutCount: number };
}

export interface CountsItem<Counts = unknown, Value = unknown> extends Adding<Counts, Value> {
  readonly key: Key;
  read(): Promise<StoredCounts<Counts> | 'unreadable'>;
  /**
   * Makes one write. Resolves to `refused` when the item has another revision than the one before `next`. A rejection
   * means that the outcome is unknown.
   */
  write(next: StoredCounts<Counts>): Promise<'applied' | 'refused'>;
}

/** Every item of counts has these attributes. An hour that an earlier version has written has no `writer`. */
export const writtenFields = { revision: z.number().int().positive(), writer: z.string().default('') };

/** Says what the counts of one kind are, and how they stand in the table. */
interface CountsForm<Fields, Counts, Value> extends Adding<Counts, Value> {
  readonly schema: z.ZodType<Fields & z.infer<z.ZodObject<typeof writtenFields>>>;
  readonly empty: Counts;
  countsOf(fields: Fields): Counts;
  fieldsOf(counts: Counts): Readonly<Record<string, Attribute>>;
}

export function createCountsItems<Fields, Counts, Value>(
  table: Table,
  form: CountsForm<Fields, Counts, Value>,
  noteUnreadable: NoteUnreadable,
) {
  const parse = (item: Item | undefined): StoredCounts<Counts> | 'unreadable' => {
    if (item === undefined) return { counts: form.empty, revision: 0, writer: '' };
    const { success, data, error } = form.schema.safeParse(item);
    if (success) return { counts: form.countsOf(data), revision: data.revision, writer: data.writer };
    noteUnreadable(unreadableOf(item, error));
    return 'unreadable';
  };
  return {
    itemOf: (key: Key, expiresAtMs: number): CountsItem<Counts, Value> => ({
      key,
      add: form.add,
      read: async () => parse(await table.get(key)),
      write({ counts, revision, writer }) {
        const before = revision - 1;
        const expires_at = Math.floor(expiresAtMs / 1_000);
        return table.update({
          key,
          set: { ...form.fieldsOf(counts), revision, writer, expires_at },
          condition:
            before === 0
              ? { kind: 'absent', name: 'revision' }
              : { kind: 'equals', name: 'revision', value: before },
        });
      },
    }),

    /** Resolves to the counts under each key. They are empty where there is no item, or one that cannot be read. */
    async readMany(keys: readonly Key[]): Promise<readonly Counts[]> {
      const found = keys.length === 0 ? [] : await table.getMany(keys);
      const items = new Map(found.map((item) => [keyText(item), item]));
      return keys.map((key) => {
        const stored = parse(items.get(keyText(key)));
        return stored === 'unreadable' ? form.empty : stored.counts;
      });
    },
  };
}
