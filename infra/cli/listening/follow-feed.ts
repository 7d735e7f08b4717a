/** Reads the feed of the bridge without an end: page after page, through outages of the bridge. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import {
  askedPauseMs,
  BridgeAbsence,
  type BridgeClient,
  BridgeRefusal,
  type BridgeSilence,
  isPassing,
} from '../connection/bridge-client.ts';
import { type FeedEvent, feedEvent } from './event-envelope.ts';
import type { FeedStart } from './since.ts';

const feedPage = z.looseObject({
  events: z.array(feedEvent),
  cursor: z.string(),
  has_more: z.boolean(),
});

export interface FeedPage {
  /** Oldest first. */
  readonly events: readonly FeedEvent[];
  /** The feed continues here once these events are dealt with. */
  readonly cursor: string;
}

interface FeedFilter {
  readonly detail_type?: string | undefined;
  readonly project_id?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
}

export interface FeedReader {
  readonly client: BridgeClient;
  readonly filter: FeedFilter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called when the bridge stops answering, and with undefined when it answers again. */
  readonly onOutage: (sentence: string | undefined) => void;
}

/** The bridge holds an empty answer back for this long. */
const WAIT_SECONDS = 20;

/** The largest page of the feed. */
const PAGE = 100;

/** Yields pages until the signal aborts. Rejects with `BridgeRefusal` when no repetition would help. */
export async function* followFeed(reader: FeedReader, start: FeedStart): AsyncGenerator<FeedPage> {
  let query = start.kind === 'cursor' ? { cursor: start.cursor } : { from: start.from };
  while (!reader.signal.aborted) {
    const page = await readThroughOutages(reader, query);
    if (page === undefined) return;
    yield page;
    query = { cursor: page.cursor };
  }
}

/** Resolves to undefined when the signal aborts. */
async function readThroughOutages(
  { client, filter, clock, signal, onOutage }: FeedReader,
  query: Readonly<Record<string, string>>,
): Promise<FeedPage | undefined> {
  const request = {
    method: 'GET',
    path: '/bridge/v1/events',
    query: { ...filter, ...query, limit: PAGE, wait: WAIT_SECONDS },
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
