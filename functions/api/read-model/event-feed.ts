/**
 * Reads events in the order in which their items moved. They come from the items, so the feed also has what the bus
 * or a rule has lost. Like the bus, it may give out an event more than once, with the same id.
 */

import * as z from 'zod';
import { renderEvent } from '../../../shared/events/render-event.ts';
import type { JournalEntry } from '../../../shared/records/journal-entries.ts';
import type { JournalRecord } from '../../../shared/records/journal-record.ts';
import { HOUR_MS, isoTimeOf } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { accountKey, isRecordKey } from '../../../shared/store/keys.ts';
import { readableRecords } from '../../../shared/store/records.ts';
import {
  FEED_INDEX,
  type IndexPosition,
  type Key,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../../shared/store/unreadable.ts';
import {
  decodeCursor,
  encodeCursor,
  isAmong,
  type Page,
  type PageRequest,
  positionSchema,
} from './list-page.ts';

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
  /** The reader sees only these events, and only these count towards the limit. The default is all. */
  readonly isVisible?: ((event: FeedEvent) => boolean) | undefined;
  /** An event matches when its type, its detail and the name of its project together hold each of these words, in any case. */
  readonly text?: string | undefined;
  /** The names of projects by id, which events do not have. */
  readonly names?: ReadonlyMap<string, string> | undefined;
  /** The default is `QUERIES_MAX`. */
  readonly queriesMax?: number | undefined;
  /** Only events of this time (ISO 8601) or later. */
  readonly from?: string | undefined;
  /**
   * Only events before this time (ISO 8601). Those of an item that changed again more than an hour later are left out,
   * because the index has each item once, at its latest change.
   */
  readonly until?: string | undefined;
}

interface RecentPage extends Page<FeedEvent> {
  /** Items that last changed before this time (ISO 8601) were not looked at. It is undefined at the end of the list. */
  readonly back_to: string | undefined;
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
  recent(request: RecentRequest): Promise<RecentPage>;
}

export const ITEMS_PER_QUERY = 100;

/** One call makes at most this many queries, so that a filter that matches nothing does not read a whole account. */
export const QUERIES_MAX = 5;

/** People who filter or search wait a second for what a page would otherwise make them page through. */
export const SEARCH_QUERIES_MAX = 20;

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

    async recent({ limit, cursor, filter = {}, text, names, from, until, ...bounds }) {
      const { isVisible = () => true, queriesMax = QUERIES_MAX } = bounds;
      let start =
        cursor === undefined
          ? until && positionBefore(accountId, until)
          : decodeCursor(recentCursor(accountId), cursor).start;
      const isWanted = (event: FeedEvent) =>
        isVisible(event) &&
        fits(event, filter) &&
        hasText(event, text, names) &&
        isBetween(event, from, until);
      const items: FeedEvent[] = [];
      let backTo: string | undefined;
      for (let count = 0; count < queriesMax; count++) {
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
        backTo = keys.at(-1)?.sortKey ?? backTo;
        if (next === undefined || items.length >= limit) break;
      }
      return {
        items: items.toSorted((a, b) => byTime(b, a)),
        next: start ? encodeCursor({ start }) : undefined,
        back_to: start ? backTo : undefined,
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

/** `since` moves at most this often. An index shows a moving item late, so a round looks back at least that far. */
const ADVANCE_MS_MIN = 10_000;

/**
 * Each round reads this much of the past again, for three reasons: machines with different clocks write the times, an
 * index shows a write some time later, and a write may be repeated for seconds. The cursor holds the events of that
 * time that were given out.
 */
const OVERLAP_MS = 30_000;

/** A cursor remembers at most this many events. When the overlap has more, some of them are given out again. */
export const TOLD_MAX = 250;

/**
 * The cursor keeps this many digits of an event's id, which are enough that no two events of half a minute are
 * confused.
 */
const TOLD_HEX_DIGITS = 10;

function feedPositionSchema(accountId: string) {
  return z.strictObject({
    /** Items that have moved since this time (ISO 8601) are read. An empty text reads all items. */
    since: z.string().max(30),
    /** Every event up to this time (ISO 8601) was given out. It is not later than `since`. */
    floor: z.string().max(30),
    /** `since` last moved at this time by our clock, in ms since the epoch. */
    advanced_at_ms: z.number(),
    /** These are the beginnings of the ids of events that were given out and are later than `floor`. */
    told: z.array(z.string().max(TOLD_HEX_DIGITS)).max(TOLD_MAX),
    /** A round reads the index from `since` to its end, over several requests. An unfinished one goes on from here. */
    start: positionSchema(FEED_INDEX.partitionKey, accountId).optional(),
    /** The unfinished round has met no item that moved later than this time (ISO 8601). */
    newest: z.string().max(30).optional(),
    /** The unfinished round began at this time by our clock, in ms since the epoch. */
    started_at_ms: z.number().optional(),
  });
}

type FeedPosition = z.output<ReturnType<typeof feedPositionSchema>>;

/** `since` is a time (ISO 8601), or empty for everything that is recorded. */
function startingAt(since: string, nowMs: number): FeedPosition {
  return { since, floor: since, advanced_at_ms: nowMs, told: [] };
}

/** Returns a test of whether the event of an entry has not been given to a reader at this position yet. */
function isNewTo({ floor, told }: FeedPosition): (entry: JournalEntry) => boolean {
  const known = new Set(told);
  return ({ observed_at, id }) => observed_at > floor && !known.has(shortOf(id));
}

interface ReadStretch {
  /** These events are given out now. */
  readonly events: readonly FeedEvent[];
  /** The items moved at these times (ISO 8601). */
  readonly movedAt: readonly string[];
  /** The round goes on here. It is over when this is undefined. */
  readonly next: IndexPosition | undefined;
  /** Reading the stretch began at this time by our clock, in ms since the epoch. */
  readonly begunAtMs: number;
}

/** Decides the position after one more stretch of the index was read. */
function decidePosition(
  position: FeedPosition,
  { events, movedAt, next, begunAtMs }: ReadStretch,
  nowMs: number,
): FeedPosition {
  const { since, newest: newestBefore = since, started_at_ms = begunAtMs } = position;
  const newest = movedAt.reduce((latest, time) => (time > latest ? time : latest), newestBefore);
  const told = [...position.told, ...events.map(({ id }) => shortOf(id))].slice(-TOLD_MAX);
  const round = { ...position, told, newest, started_at_ms };
  return next === undefined ? decideAdvance(round, nowMs) : { ...round, start: next };
}

interface Round extends FeedPosition {
  readonly newest: string;
  readonly started_at_ms: number;
}

/** Moves `since`, at the end of a round, to the newest time minus the overlap, unless it has moved a moment ago. */
function decideAdvance(round: Round, nowMs: number): FeedPosition {
  const { since, floor, advanced_at_ms, told, newest, started_at_ms } = round;
  // An item that was written during a long round may stand in a part of the index that the round had passed already.
  const from = newest === '' ? '' : isoTimeOf(Math.min(Date.parse(newest), started_at_ms) - OVERLAP_MS);
  if (from <= since || nowMs - advanced_at_ms < ADVANCE_MS_MIN) return { since, floor, advanced_at_ms, told };
  return { since: from, floor: since, advanced_at_ms: nowMs, told };
}

function shortOf(id: string): string {
  return id.slice(0, TOLD_HEX_DIGITS);
}

export interface FeedEvent {
  readonly id: string;
  readonly detail_type: string;
  readonly source: string;
  /** The bridge observed the event at this time (ISO 8601). */
  readonly time: string;
  /** The detail is the same as on the bus. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** This says whether the bus has accepted the event. */
  readonly published: boolean;
}

/** An event matches when each field that is given lets it through (`isAmong`). */
export interface FeedFilter {
  readonly project_id?: string | undefined;
  readonly detail_type?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
}

/** Renders the events of a record, or only those of the entries that `isWanted` holds for. */
export function eventsOf(
  record: JournalRecord,
  isWanted: (entry: JournalEntry) => boolean = () => true,
): readonly FeedEvent[] {
  return (record.entries as readonly JournalEntry[]).filter(isWanted).map((entry) => {
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
  if (!isAmong(filter.detail_type, detail_type)) return false;
  return (['project_id', 'status', 'action'] as const).every((name) => isAmong(filter[name], detail[name]));
}

/** Says whether a value or a name in the detail holds the text. */
function hasText(
  { detail, detail_type }: FeedEvent,
  text: string | undefined,
  names: RecentRequest['names'],
): boolean {
  if (text === undefined) return true;
  const name = names?.get(String(detail['project_id'])) ?? '';
  // Whoever looks for what failed does not mean what has run again since.
  const { previous_status: _status, previous_state: _state, ...said } = detail;
  const all = `${detail_type} ${name} ${JSON.stringify(Object.values(said))}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function isBetween({ time }: FeedEvent, from: string | undefined, until: string | undefined): boolean {
  const epochMs = Date.parse(time);
  return (
    (from === undefined || epochMs >= Date.parse(from)) &&
    (until === undefined || epochMs < Date.parse(until))
  );
}

/** Puts the oldest event first. Events of the same time keep the order of their operation. */
function byTime(a: FeedEvent, b: FeedEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  const [first, second] = [Number(a.detail['sequence'] ?? 0), Number(b.detail['sequence'] ?? 0)];
  return first - second;
}
