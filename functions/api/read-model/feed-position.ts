/** Decides how far a reader of the feed has come. The position stands in the reader's cursor. */

import * as z from 'zod';
import type { JournalEntry } from '../../../shared/core/journal/journal-entries.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { FEED_INDEX, type IndexPosition } from '../../../shared/store/table.ts';
import type { FeedEvent } from './feed-event.ts';
import { positionSchema } from './page-cursor.ts';

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

export function feedPositionSchema(accountId: string) {
  return z.strictObject({
    /** Items that have moved since this time (ISO 8601) are read. An empty text reads all items. */
    since: z.string().max(30),
    /** Every event up to this time (ISO 8601) was given out. It is not later than `since`. */
    floor: z.string().max(30),
    /** `since` last moved at this time by our clock, in ms since the epoch. */
    advanced_at_ms: z.number(),
    /** These are the beginnings of the ids of events that were given out and are later than `floor`. */
    told: z.array(z.string().max(TOLD_HEX_DIGITS)).max(TOLD_MAX),
    /** In the middle of a round, the index is read on from here. */
    start: positionSchema(FEED_INDEX.partitionKey, accountId).optional(),
    /** In the middle of a round, this is the newest time that the round has met. */
    newest: z.string().max(30).optional(),
    /** In the middle of a round, this is when the round began by our clock. */
    started_at_ms: z.number().optional(),
  });
}

export type FeedPosition = z.output<ReturnType<typeof feedPositionSchema>>;

/** `since` is a time (ISO 8601), or empty for everything that is recorded. */
export function startingAt(since: string, nowMs: number): FeedPosition {
  return { since, floor: since, advanced_at_ms: nowMs, told: [] };
}

/** Returns a test of whether the event of an entry has not been given to a reader at this position yet. */
export function isNewTo({ floor, told }: FeedPosition): (entry: JournalEntry) => boolean {
  const known = new Set(told);
  return ({ observed_at, id }) => observed_at > floor && !known.has(shortOf(id));
}

export interface ReadStretch {
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
export function decidePosition(
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
