/** Shows or forwards each event of the feed once, and remembers how far it has come. */

import { BridgeRefusal } from '../connection/bridge-client.ts';
import type { FeedEvent } from './event-envelope.ts';
import { type FeedReader, followFeed } from './follow-feed.ts';
import { afterEvent, NO_POSITION, type Position, writePosition } from './kept-position.ts';
import type { FeedStart } from './since.ts';

export interface Listening {
  readonly reader: FeedReader;
  /** Where to begin, unless a position is kept. */
  readonly start: FeedStart;
  readonly kept: Position | undefined;
  readonly positionFile: string;
  /** Deals with one event. Resolves to false when the signal aborted before it was done. */
  readonly handle: (event: FeedEvent) => Promise<boolean>;
  /** Is called when the bridge does not know the kept cursor, with the time from which the feed is read again. */
  readonly onNewFeed: (from: string) => void;
  readonly eventsMax: number;
}

/** Two machines' clocks may differ, and events of one moment are recorded in any order. */
const OVERLAP_MS = 60_000;

/** Resolves when the signal aborts, or after `eventsMax` events. */
export async function listen(listening: Listening): Promise<void> {
  const { kept, start, onNewFeed } = listening;
  if (kept?.cursor === undefined) return follow(listening, start, kept ?? NO_POSITION);
  try {
    await follow(listening, { kind: 'cursor', cursor: kept.cursor }, kept);
  } catch (error) {
    if (!isUnknownCursor(error) || kept.last_time === undefined) throw error;
    // The bridge was set up anew, or the token belongs to another client: its seals are others.
    const from = new Date(Date.parse(kept.last_time) - OVERLAP_MS).toISOString();
    onNewFeed(from);
    await follow(listening, { kind: 'from', from }, kept);
  }
}

async function follow(
  { reader, positionFile, handle, eventsMax }: Listening,
  start: FeedStart,
  before: Position,
): Promise<void> {
  let position = before;
  let count = 0;
  const known = new Set(before.recent_ids);
  for await (const { events, cursor } of followFeed(reader, start)) {
    for (const event of events.filter(({ id }) => !known.has(id))) {
      if (!(await handle(event))) return;
      known.add(event.id);
      position = afterEvent(position, event);
      writePosition(positionFile, position);
      count += 1;
      if (count >= eventsMax) return;
    }
    position = { ...position, cursor };
    writePosition(positionFile, position);
  }
}

/** No other field of the request can be wrong. */
function isUnknownCursor(error: unknown): boolean {
  return error instanceof BridgeRefusal && error.status === 400;
}
