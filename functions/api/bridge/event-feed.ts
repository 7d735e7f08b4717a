/**
 * Events in the order in which their items moved, from what the items remember: nothing that the bus or a rule lost is
 * missing here. At least once, like the bus: an event may come again, with the same id.
 */

import * as z from 'zod';
import type { JournalEntry } from '../../../shared/core/records/journal-entries.ts';
import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { renderEvent } from '../../../shared/events/render-event.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { parseRecords } from '../../../shared/store/parse-record.ts';
import { FEED_INDEX, type Table, type TableIndexes } from '../../../shared/store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../../shared/store/unreadable.ts';
import { decodeCursor, encodeCursor, type Page, positionSchema } from './page-cursor.ts';

export interface FeedEvent {
  readonly id: string;
  readonly detail_type: string;
  readonly source: string;
  /** When it was observed, ISO 8601. */
  readonly time: string;
  /** As on the bus. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** The bus has it. */
  readonly published: boolean;
}

export interface FeedFilter {
  readonly project_id?: string | undefined;
  readonly detail_type?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
}

export interface FeedPage {
  /** Oldest first, as far as one page goes. */
  readonly events: readonly FeedEvent[];
  /** For the next call, also when there was nothing. */
  readonly cursor: string;
  /** The rest is there already: ask again at once. */
  readonly hasMore: boolean;
}

/** While an item moves in the index it can be out of sight: a round goes on from where the one before it began. */
const ADVANCE_MS_MIN = 10_000;

/**
 * Clocks of several machines write the times, an index shows a write some time after it, and a write may be repeated for
 * seconds: so much of the past is read again each time. What was told from there stands in the cursor.
 */
const OVERLAP_MS = 30_000;

/** With more events than that in the overlap, some of them come again. */
export const TOLD_MAX = 250;

/** Of an id; two events of half a minute that share so much are not to be expected. */
const TOLD_HEX_DIGITS = 10;

export const ITEMS_PER_QUERY = 100;

/** Of one call: a filter that fits nothing must not read a whole account. */
export const QUERIES_MAX = 5;

export function createEventFeed(
  table: Table,
  indexes: TableIndexes,
  accountId: string,
  {
    clock,
    noteUnreadable = ignoreUnreadable,
  }: { readonly clock: Clock; readonly noteUnreadable?: NoteUnreadable },
) {
  const position = positionSchema(FEED_INDEX.partitionKey, accountId);
  const feedCursor = z.strictObject({
    /** Items that moved since then are read, ISO 8601; empty: all. */
    since: z.string().max(30),
    /** Everything up to here was told; not after `since`. */
    floor: z.string().max(30),
    /** When `since` moved last, our clock, milliseconds. */
    advanced_at_ms: z.number(),
    told: z.array(z.string().max(TOLD_HEX_DIGITS)).max(TOLD_MAX),
    /** In the middle of a round: where, the newest time met in it, and when it began. */
    start: position.optional(),
    newest: z.string().max(30).optional(),
    started_at_ms: z.number().optional(),
  });
  const recentCursor = z.strictObject({ start: position });

  /** Without those that cannot be read: they come when a version that can read them moves them again. */
  const readItems = async (
    keys: readonly { pk: string; sk: string }[],
  ): Promise<readonly JournalRecord[]> => {
    const { records, unreadable } = parseRecords(await table.getMany(keys));
    for (const item of unreadable) noteUnreadable(item);
    return records;
  };

  return {
    /** A new cursor: of all that is remembered, or of what comes from now on. */
    start(from: 'beginning' | 'now'): string {
      const since = from === 'now' ? isoTimeOf(clock.now()) : '';
      return encodeCursor({ since, floor: since, advanced_at_ms: clock.now(), told: [] });
    },

    /** What came since the cursor was given out. */
    async since(cursor: string, limit = ITEMS_PER_QUERY): Promise<FeedPage> {
      const place = decodeCursor(feedCursor, cursor);
      const { since, floor, told, start, newest = since, started_at_ms = clock.now() } = place;
      const known = new Set(told);
      const query = {
        index: FEED_INDEX,
        partition: accountId,
        limit,
        after: since === '' ? undefined : since,
      };
      const { keys, next } = await indexes.query({ ...query, start });
      const entries = (await readItems(keys))
        .flatMap(eventsOf)
        .filter(({ time, id }) => time > floor && !known.has(shortOf(id)))
        .toSorted(byTime);
      const reached = keys.reduce((latest, { sortKey }) => (sortKey > latest ? sortKey : latest), newest);
      const toldNow = [...told, ...entries.map(({ id }) => shortOf(id))].slice(-TOLD_MAX);
      const round = { ...place, told: toldNow, newest: reached, started_at_ms, start: next };
      const after = next === undefined ? advanced(round, clock.now()) : round;
      return { events: entries, hasMore: next !== undefined, cursor: encodeCursor(after) };
    },

    /** Newest first by item: the events of one page are in order, those of an operation stay together. */
    async recent({
      limit,
      cursor,
      filter = {},
    }: {
      readonly limit: number;
      readonly cursor?: string | undefined;
      readonly filter?: FeedFilter | undefined;
    }): Promise<Page<FeedEvent>> {
      let start = cursor === undefined ? undefined : decodeCursor(recentCursor, cursor).start;
      const items: FeedEvent[] = [];
      for (let count = 0; count < QUERIES_MAX; count++) {
        const query = {
          index: FEED_INDEX,
          partition: accountId,
          newestFirst: true,
          limit: Math.min(limit, ITEMS_PER_QUERY),
        };
        const { keys, next } = await indexes.query({ ...query, start });
        items.push(...(await readItems(keys)).flatMap(eventsOf).filter((event) => fits(event, filter)));
        start = next;
        if (next === undefined || items.length >= limit) break;
      }
      return {
        items: items.toSorted((a, b) => byTime(b, a)),
        next: start === undefined ? undefined : encodeCursor({ start }),
      };
    },
  };
}

interface Round {
  readonly since: string;
  readonly floor: string;
  readonly advanced_at_ms: number;
  readonly told: readonly string[];
  readonly newest: string;
  readonly started_at_ms: number;
}

/** At the end of a round: on to the newest time met, the overlap back, when the last step lies far enough behind. */
function advanced({ since, floor, advanced_at_ms, told, newest, started_at_ms }: Round, nowMs: number) {
  // What is written while a long round goes on may stand behind where it is reading.
  const from = newest === '' ? '' : isoTimeOf(Math.min(Date.parse(newest), started_at_ms) - OVERLAP_MS);
  if (from <= since || nowMs - advanced_at_ms < ADVANCE_MS_MIN) return { since, floor, advanced_at_ms, told };
  return { since: from, floor: since, advanced_at_ms: nowMs, told };
}

export function eventsOf(record: JournalRecord): readonly FeedEvent[] {
  return (record.entries as readonly JournalEntry[]).map((entry) => {
    const { source, detailType, detail, time } = renderEvent(record, entry);
    return {
      id: entry.id,
      detail_type: detailType,
      source,
      time,
      detail: JSON.parse(detail) as Readonly<Record<string, unknown>>,
      published: entry.revision <= record.published,
    };
  });
}

export function fits({ detail_type, detail }: FeedEvent, filter: FeedFilter): boolean {
  if (filter.detail_type !== undefined && filter.detail_type !== detail_type) return false;
  return (['project_id', 'status', 'action'] as const).every(
    (name) => filter[name] === undefined || filter[name] === detail[name],
  );
}

function byTime(a: FeedEvent, b: FeedEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  const [first, second] = [Number(a.detail['sequence'] ?? 0), Number(b.detail['sequence'] ?? 0)];
  return first - second;
}

function shortOf(id: string): string {
  return id.slice(0, TOLD_HEX_DIGITS);
}
