/** Reads records out of items, and notes the items that cannot be read. No code ever writes to such an item. */

import type { JournalRecord } from '../../core/records/journal-record.ts';
import {
  type ParsedItem,
  type ParsedItems,
  parseRecordOf,
  parseRecords,
  parseRecordsOf,
  type RecordOf,
} from '../parse-record.ts';
import type { Item } from '../table.ts';
import { type NoteUnreadable, UnreadableItemError } from '../unreadable.ts';

/** Reads one item. Throws `UnreadableItemError` when the item as a whole cannot be read. */
export function readableRecord<K extends JournalRecord['kind']>(
  kind: K,
  item: Item,
  noteUnreadable: NoteUnreadable,
): RecordOf<K> {
  const { record, unreadable }: ParsedItem<RecordOf<K>> = parseRecordOf(kind, item);
  if (unreadable !== undefined) noteUnreadable(unreadable);
  if (record !== undefined) return record;
  throw new UnreadableItemError(unreadable ?? { key: { pk: '', sk: '' }, fields: [] });
}

/** Reads many items of one kind. It leaves out those that cannot be read. */
export function readableRecordsOf<K extends JournalRecord['kind']>(
  kind: K,
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly RecordOf<K>[] {
  return noted(parseRecordsOf(kind, items), noteUnreadable);
}

/** Reads many items of any kind. It leaves out those that cannot be read. */
export function readableRecords(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly JournalRecord[] {
  return noted(parseRecords(items), noteUnreadable);
}

function noted<R extends JournalRecord>(
  { records, unreadable }: ParsedItems<R>,
  noteUnreadable: NoteUnreadable,
): readonly R[] {
  for (const item of unreadable) noteUnreadable(item);
  return records;
}
