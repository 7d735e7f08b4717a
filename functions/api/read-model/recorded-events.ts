/** Reads the events that a replay of a range would send, so that a caller sees what it sends before it begins. */

import * as z from 'zod';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import { type EventRange, type RangeReader, readRange } from '../../../shared/protocol/recorded-range.ts';
import { FEED_INDEX } from '../../../shared/store/table.ts';
import { decodeCursor, encodeCursor, type Page, positionSchema } from './page-cursor.ts';

/** One call reads at most this many pages of this many items, so that a large account takes several calls. */
export const PREVIEW_PAGES_MAX = 5;
export const PREVIEW_ITEMS_PER_PAGE = 100;

export interface RecordedEvents {
  /** Resolves to the events of one stretch. `next` is undefined at the end of the range. Throws `AppError` `cursor_invalid`. */
  recordedEvents(range: EventRange, cursor: string | undefined): Promise<Page<BusEvent>>;
}

export function createRecordedEvents(reader: RangeReader): RecordedEvents {
  const cursors = z.strictObject({ start: positionSchema(FEED_INDEX.partitionKey, reader.accountId) });
  return {
    async recordedEvents(range, cursor) {
      let start = cursor === undefined ? undefined : decodeCursor(cursors, cursor).start;
      const items: BusEvent[] = [];
      for (let pages = 0; pages < PREVIEW_PAGES_MAX; pages++) {
        const request = { movedSince: range.since, start, itemsMax: PREVIEW_ITEMS_PER_PAGE };
        const { events, next } = await readRange(reader, range, request);
        items.push(...events);
        start = next;
        if (start === undefined) break;
      }
      return { items, next: start === undefined ? undefined : encodeCursor({ start }) };
    },
  };
}
