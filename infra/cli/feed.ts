/**
 * Reads the feed of the bridge without an end, page after page and through outages, shows or forwards each event
 * once, and keeps how far it has come, so that the next run goes on where this one stopped, even if it was killed.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isoTimeOf } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../process/command.ts';
import { codeOf, writePrivateFile } from '../process/operating-system.ts';
import { type Environment, stateFolder } from '../process/surroundings.ts';
import {
  askedPauseMs,
  BridgeAbsence,
  type BridgeClient,
  BridgeRefusal,
  type BridgeSilence,
  isPassing,
} from './bridge-client.ts';
import { timeIn } from './filters.ts';

const feedEvent = z.looseObject({
  id: z.string(),
  detail_type: z.string(),
  source: z.string(),
  time: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

export type FeedEvent = z.output<typeof feedEvent>;

export interface EventEnvelope {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly time: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** On the bus, AWS gives every copy an envelope id of its own; here it is the id of the event. */
export function envelopeOf({ id, detail_type, source, time, detail }: FeedEvent): EventEnvelope {
  return { version: '0', id, 'detail-type': detail_type, source, time, resources: [], detail };
}

export interface Listening {
  readonly reader: FeedReader;
  /** Where to begin, unless a position is kept. */
  readonly start: FeedStart;
  readonly kept: Position | undefined;
  readonly positionFile: string;
  /** Deals with one event. Resolves to false when the signal aborted before it was done. */
  readonly handle: (event: FeedEvent) => Promise<boolean>;
  /** Is called when the bridge does not know the kept cursor, with the place from which the feed is read again. */
  readonly onNewFeed: (from: string) => void;
  readonly eventsMax: number;
  /** Is called when the bridge has given its first page. What it rejects with ends the listening. */
  readonly onBegin: () => Promise<void>;
}

/** Two machines' clocks may differ, and events of one moment are recorded in any order. */
const OVERLAP_MS = 60_000;

/** Resolves when the signal aborts, or after `eventsMax` events. Rejects with `BridgeRefusal` when no repetition would help. */
export async function listen(listening: Listening): Promise<void> {
  const { reader, start, kept, positionFile, handle, onNewFeed, eventsMax, onBegin } = listening;
  const { clock, signal } = reader;
  const beginning = placeOf(start) ?? isoTimeOf(clock.now());
  let position = kept ?? NO_POSITION;
  let query = firstQuery(start, position);
  let [count, hasBegun] = [0, false];
  const known = new Set(position.recent_ids);
  while (!signal.aborted) {
    const page = await readThroughOutages(reader, query).catch((error: unknown) => {
      if (position.cursor === undefined || !isUnknownCursor(error)) throw error;
      return 'unknown cursor' as const;
    });
    if (page === undefined) return;
    if (page === 'unknown cursor') {
      // The bridge was set up anew, or the token belongs to another client: its seals are others.
      position = { ...position, cursor: undefined };
      const from = placeBefore(position) ?? beginning;
      query = { from };
      onNewFeed(from);
      await clock.sleep(PAUSE_MS_MIN, signal).catch(() => {});
      continue;
    }
    if (!hasBegun) await onBegin();
    hasBegun = true;
    for (const event of page.events.filter(({ id }) => !known.has(id))) {
      if (!(await handle(event))) return;
      known.add(event.id);
      position = afterEvent(position, event);
      writePosition(positionFile, position);
      count += 1;
      if (count >= eventsMax) return;
    }
    position = { ...position, cursor: page.cursor };
    writePosition(positionFile, position);
    query = { cursor: page.cursor, wait: WAIT_SECONDS };
  }
}

function firstQuery(start: FeedStart, position: Position): Query {
  const from = placeBefore(position);
  if (position.cursor !== undefined) return { cursor: position.cursor };
  if (from !== undefined) return { from };
  return start.kind === 'cursor' ? { cursor: start.cursor } : { from: start.from };
}

/** Returns a time shortly before the newest event that was dealt with, and undefined when there was none. */
function placeBefore({ last_time }: Position): string | undefined {
  return last_time === undefined ? undefined : isoTimeOf(Date.parse(last_time) - OVERLAP_MS);
}

/** No other field of the request can be wrong. */
function isUnknownCursor(error: unknown): boolean {
  return error instanceof BridgeRefusal && error.status === 400;
}

const feedPage = z.looseObject({
  events: z.array(feedEvent),
  cursor: z.string(),
  has_more: z.boolean(),
});

interface FeedPage {
  /** Oldest first. */
  readonly events: readonly FeedEvent[];
  /** The feed continues here once these events are dealt with. */
  readonly cursor: string;
}

interface FeedReader {
  readonly client: BridgeClient;
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called when the bridge stops answering, and with undefined when it answers again. */
  readonly onOutage: (sentence: string | undefined) => void;
}

/** The bridge holds an empty answer back for this long, but for the first one, which shows that it answers. */
const WAIT_SECONDS = 20;

/** The largest page of the feed. */
const PAGE = 100;

type Query = Readonly<Record<string, string | number>>;

/** Resolves to undefined when the signal aborts. */
async function readThroughOutages(
  { client, filter, clock, signal, onOutage }: FeedReader,
  query: Query,
): Promise<FeedPage | undefined> {
  const request = {
    method: 'GET',
    path: '/bridge/v1/events',
    query: { ...filter, limit: PAGE, wait: 0, ...query },
  };
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const page = await client.read(request, feedPage);
      if (failures > 0) onOutage(undefined);
      return page;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isOutage(error)) throw error;
      if (failures === 0) onOutage(error.message);
      await clock.sleep(pauseMsAfter(failures, error), signal).catch(() => {});
    }
  }
  return undefined;
}

/** The token of a bridge on this machine ends with its run, and the next run announces another one. */
function isOutage(error: unknown): error is BridgeSilence | BridgeRefusal {
  return isPassing(error) || (error instanceof BridgeRefusal && error.status === 401 && error.isLocalRun);
}

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 15_000;

function pauseMsAfter(failures: number, error: BridgeSilence | BridgeRefusal): number {
  if (error instanceof BridgeAbsence) return PAUSE_MS_MIN;
  return Math.max(Math.min(PAUSE_MS_MIN * 2 ** Math.min(failures, 10), PAUSE_MS_MAX), askedPauseMs(error));
}

/** Where the feed begins: at a place that it knows by name, at a time (ISO 8601), or at a cursor. */
type FeedStart =
  | { readonly kind: 'from'; readonly from: string }
  | { readonly kind: 'cursor'; readonly cursor: string };

/** Returns undefined for a start that means another place at another time, or in another feed. */
function placeOf(start: FeedStart): string | undefined {
  return start.kind === 'from' && start.from !== 'now' ? start.from : undefined;
}

/** The shortest cursor is longer than this, and no time is. */
const CURSOR_LENGTH_MIN = 40;

/** Throws `UsageError`. */
export function parseSince(text: string, nowMs: number): FeedStart {
  if (text === 'now' || text === 'beginning') return { kind: 'from', from: text };
  const from = timeIn(text, nowMs);
  if (from !== undefined) return { kind: 'from', from };
  if (text.length >= CURSOR_LENGTH_MIN && /^[\w.~+/=-]+$/.test(text)) return { kind: 'cursor', cursor: text };
  throw new UsageError(
    `--since is "${text}"; it takes a time such as 2026-01-16T21:00:00Z, a duration such as 10m or 2h, now, beginning, or a cursor of the feed.`,
  );
}

/** The feed may give out an event again within half a minute. A busy account has fewer events in that time. */
const RECENT_IDS_MAX = 1_000;

const position = z.object({
  /** The feed continues here. It is absent before the first page. */
  cursor: z.string().optional(),
  /** The time (ISO 8601) of the newest event that was dealt with. */
  last_time: z.string().optional(),
  /** The ids of the events that were dealt with most recently, oldest first. */
  recent_ids: z.array(z.string()).max(RECENT_IDS_MAX),
});

type Position = z.output<typeof position>;

const NO_POSITION: Position = { recent_ids: [] };

/** One stream of events has one file: the same bridge, filters and target. */
export function positionFileOf(environment: Environment, stream: readonly (string | undefined)[]): string {
  const name = createHash('sha256').update(JSON.stringify(stream)).digest('hex').slice(0, 16);
  return join(stateFolder(environment), `listen-${name}.json`);
}

/** Returns undefined when nothing is kept, or when what is kept cannot be read. */
export function readPosition(file: string): Position | undefined {
  try {
    return position.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function writePosition(file: string, kept: Position): void {
  writePrivateFile(file, JSON.stringify(kept));
}

function afterEvent(
  before: Position,
  { id, time }: { readonly id: string; readonly time: string },
): Position {
  const last_time = before.last_time === undefined || time > before.last_time ? time : before.last_time;
  return { ...before, last_time, recent_ids: [...before.recent_ids, id].slice(-RECENT_IDS_MAX) };
}
