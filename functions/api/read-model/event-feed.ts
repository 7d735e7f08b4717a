/**
 * Reads events in the order in which their items moved. They come from the items, so the feed also has what the bus
 * or a rule has lost. Like the bus, it may give out an event more than once, with the same id.
 */

import * as z from 'zod';
import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import { HOUR_MS } from '../../../shared/core/time/durations.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { readableRecords } from '../../../shared/store/adapters/readable-records.ts';
import { accountKey, isRecordKey } from '../../../shared/store/keys.ts';
import {
  FEED_INDEX,
  type IndexPosition,
  type Key,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../../shared/store/unreadable.ts';
import { byTime, eventsOf, type FeedEvent, type FeedFilter, fits, hasText, isBetween } from './feed-event.ts';
import { decidePosition, feedPositionSchema, isNewTo, startingAt } from './feed-position.ts';
import { decodeCursor, encodeCursor, type Page, type PageRequest, positionSchema } from './page-cursor.ts';

interface FeedPage {
  /** The events of one page come oldest first. */
  readonly events: readonly FeedEvent[];
  /** The next call takes this cursor, also when there was no event. */
  readonly cursor: string;
  /** When true, more events are there already, so the caller may ask again at once. */
  readonly hasMore: boolean;
}

interface RecentRequest extends PageRequest {
  readonly filter?: FeedFilter | undefined;
  /** An event matches when its detail holds this text, in any case. */
  readonly text?: string | undefined;
  /** Only events of this time (ISO 8601) or later. */
  readonly from?: string | undefined;
  /**
   * Only events before this time (ISO 8601). Those of an item that changed again more than an hour later are left out,
   * because the index has each item once, at its latest change.
   */
  readonly until?: string | undefined;
}

export interface EventFeed {
  /**
   * Returns a new cursor: for every recorded event (`beginning`), for those that come from `now` on, or for those after
   * a time (ISO 8601).
   */
  start(from: string): string;
  /** Resolves to what came since the cursor was given out. Throws `AppError` `cursor_invalid`. */
  since(cursor: string, limit?: number): Promise<FeedPage>;
  /**
   * Resolves to events newest first by item: the events of one page are in order, and those of one operation stay
   * together.
   */
  recent(request: RecentRequest): Promise<Page<FeedEvent>>;
}

export const ITEMS_PER_QUERY = 100;

/** One call makes at most this many queries, so that a filter that matches nothing does not read a whole account. */
export const QUERIES_MAX = 5;

export interface FeedPorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
}

export function createEventFeed(
  table: Table,
  indexes: TableIndexes,
  accountId: string,
  { clock, noteUnreadable = ignoreUnreadable }: FeedPorts,
): EventFeed {
  const positions = feedPositionSchema(accountId);
  const list = { index: FEED_INDEX, partition: accountId };
  /** An item that cannot be read comes later, when a version that can read it moves it again. */
  const readItems = async (keys: readonly Key[]): Promise<readonly JournalRecord[]> =>
    readableRecords(await table.getMany(keys.filter(isRecordKey)), noteUnreadable);

  return {
    start(from) {
      const nowMs = clock.now();
      return encodeCursor(startingAt(timeOfStart(from, nowMs), nowMs));
    },

    async since(cursor, limit = ITEMS_PER_QUERY) {
      const begunAtMs = clock.now();
      const position = decodeCursor(positions, cursor);
      const { since, start } = position;
      const after = since === '' ? undefined : since;
      const { keys, next } = await indexes.query({ ...list, limit, after, start });
      const records = await readItems(keys);
      const isNew = isNewTo(position);
      const events = records.flatMap((record) => eventsOf(record, isNew)).toSorted(byTime);
      const movedAt = keys.map(({ sortKey }) => sortKey);
      const reached = decidePosition(position, { events, movedAt, next, begunAtMs }, clock.now());
      return { events, hasMore: next !== undefined, cursor: encodeCursor(reached) };
    },

    async recent({ limit, cursor, filter = {}, text, from, until }) {
      let start =
        cursor === undefined
          ? until && positionBefore(accountId, until)
          : decodeCursor(recentCursor(accountId), cursor).start;
      const isWanted = (event: FeedEvent) =>
        fits(event, filter) && hasText(event, text) && isBetween(event, from, until);
      const items: FeedEvent[] = [];
      for (let count = 0; count < QUERIES_MAX; count++) {
        const query = {
          ...list,
          newestFirst: true,
          limit: Math.min(limit, ITEMS_PER_QUERY),
          after: from && justBefore(from),
          start: start || undefined,
        };
        const { keys, next } = await indexes.query(query);
        items.push(...(await readItems(keys)).flatMap((record) => eventsOf(record)).filter(isWanted));
        start = next;
        if (next === undefined || items.length >= limit) break;
      }
      return {
        items: items.toSorted((a, b) => byTime(b, a)),
        next: start ? encodeCursor({ start }) : undefined,
      };
    },
  };
}

/** The index gives what comes after a time, and the first moment of a stretch belongs to it. */
function justBefore(from: string): string {
  return isoTimeOf(Date.parse(from) - 1);
}

/** An operation has usually had its last event within this time. */
const LATER_CHANGES_MS = HOUR_MS;

/** Returns a position that no item has. A list from there begins with what changed before this time or soon after. */
function positionBefore(accountId: string, until: string): IndexPosition {
  const { pk, sk } = accountKey(accountId);
  const changedAt = isoTimeOf(Date.parse(until) + LATER_CHANGES_MS);
  return { pk, sk, [FEED_INDEX.partitionKey]: accountId, [FEED_INDEX.sortKey]: changedAt };
}

/** An empty time is before every event. */
function timeOfStart(from: string, nowMs: number): string {
  if (from === 'beginning') return '';
  return isoTimeOf(from === 'now' ? nowMs : Date.parse(from));
}

function recentCursor(accountId: string) {
  return z.strictObject({ start: positionSchema(FEED_INDEX.partitionKey, accountId) });
}
