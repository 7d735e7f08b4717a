/**
 * Reads the recorded events that a caller chooses, a page of items at a time. They are rendered from the journals of
 * the table, so each has the id and the bytes that it had. The table keeps the last 32 entries of an operation, and
 * a settled operation for 200 days; the archive of the bus has the rest.
 */

import { type BusEvent, renderEvent } from '../events/render-event.ts';
import { type EventChoice, isChosen } from '../records/event-choice.ts';
import type { JournalEntry } from '../records/journal-entries.ts';
import type { JournalRecord } from '../records/journal-record.ts';
import { isoTimeOf } from '../records/time.ts';
import { isRecordKey } from '../store/keys.ts';
import type { Key } from '../store/table.ts';
import { FEED_INDEX, type IndexPosition, type TableIndexes } from '../store/table.ts';

export interface RangeReader {
  readonly indexes: TableIndexes;
  readonly accountId: string;
  /** Reads records of all kinds. An item that cannot be read is left out. */
  readonly readRecords: (keys: readonly Key[]) => Promise<readonly JournalRecord[]>;
}

export interface RangePage {
  /** The events of one record follow each other. */
  readonly events: readonly BusEvent[];
  /** The number of items that were read, with or without a chosen event. */
  readonly itemCount: number;
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export interface RangeRequest {
  /** Only items are read whose latest event is not older than this time. No item with an event of the range is. */
  readonly movedSince: string;
  readonly start: IndexPosition | undefined;
  /** At most this many items are read. Each has at most some dozens of entries. */
  readonly itemsMax: number;
}

/** Leaves out events that the bus has not accepted yet, because these are published anyway. */
export async function readRange(
  { indexes, accountId, readRecords }: RangeReader,
  choice: EventChoice,
  { movedSince, start, itemsMax }: RangeRequest,
): Promise<RangePage> {
  const after = isoTimeOf(Date.parse(movedSince) - 1);
  const { keys, next } = await indexes.query({
    index: FEED_INDEX,
    partition: accountId,
    after,
    limit: itemsMax,
    start,
  });
  const records = await readRecords(keys.filter(isRecordKey));
  return { events: records.flatMap((record) => eventsIn(record, choice)), itemCount: keys.length, next };
}

function eventsIn(record: JournalRecord, choice: EventChoice): readonly BusEvent[] {
  const entries: readonly JournalEntry[] = record.entries;
  return entries
    .filter(({ revision }) => revision <= record.published)
    .map((entry) => renderEvent(record, entry))
    .filter((event) => isChosen(choice, { ...event, detail: JSON.parse(event.detail) as Parsed }));
}

type Parsed = Readonly<Record<string, unknown>>;
