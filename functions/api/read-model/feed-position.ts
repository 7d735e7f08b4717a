/** How far a reader of the feed has come, as it stands in the reader's cursor. */

import * as z from 'zod';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { FEED_INDEX, type IndexPosition } from '../../../shared/store/table.ts';
import type { FeedEvent } from './feed-event.ts';
import { positionSchema } from './page-cursor.ts';

/** The shortest time between two moves of `since`: an index shows a moving item late, so a round looks back that far at least. */
const ADVANCE_MS_MIN = 10_000;

/**
 * How much of the past is read again in each round. Several machines with different clocks write the times, an index shows a write
 * some time later, and a write may be repeated for seconds. The cursor holds the events of that stretch that were given out.
 */
const OVERLAP_MS = 30_000;

/** The most events that a cursor remembers. When the overlap has more, some of them are given out again. */
export const TOLD_MAX = 250;

/** Digits of an event's id in the cursor: enough that no two events of half a minute are confused. */
const TOLD_HEX_DIGITS = 10;

export function feedPositionSchema(accountId: string) {
  return z.strictObject({
    /** Items that have moved since this time are read, ISO 8601; empty: all items. */
    since: z.string().max(30),
    /** Every event up to this time was given out, ISO 8601; not later than `since`. */
    floor: z.string().max(30),
    /** When `since` moved last, by our clock, milliseconds since the epoch. */
    advanced_at_ms: z.number(),
    /** The beginnings of the ids of events that were given out and are later than `floor`. */
    told: z.array(z.string().max(TOLD_HEX_DIGITS)).max(TOLD_MAX),
    /** In the middle of a round: where it goes on in the index. */
    start: positionSchema(FEED_INDEX.partitionKey, accountId).optional(),
    /** In the middle of a round: the newest time that it has met. */
    newest: z.string().max(30).optional(),
    /** In the middle of a round: when it began, by our clock. */
    started_at_ms: z.number().optional(),
  });
}

export type FeedPosition = z.output<ReturnType<typeof feedPositionSchema>>;

/** `since`: ISO 8601, or empty for everything that is remembered. */
export function startingAt(since: string, nowMs: number): FeedPosition {
  return { since, floor: since, advanced_at_ms: nowMs, told: [] };
}

/** Whether a reader at this position has not been given the event yet. */
export function isNewTo({ floor, told }: FeedPosition): (event: FeedEvent) => boolean {
  const known = new Set(told);
  return ({ time, id }) => time > floor && !known.has(shortOf(id));
}

export interface ReadStretch {
  /** What is given out now. */
  readonly events: readonly FeedEvent[];
  /** When the items moved, ISO 8601. */
  readonly movedAt: readonly string[];
  /** Where the round goes on; undefined: the round is over. */
  readonly next: IndexPosition | undefined;
  /** When reading the stretch began, by our clock, milliseconds since the epoch. */
  readonly begunAtMs: number;
}

/** The position after one more stretch of the index was read. */
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

/** At the end of a round `since` moves to the newest time minus the overlap, unless it has moved a moment ago. */
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
