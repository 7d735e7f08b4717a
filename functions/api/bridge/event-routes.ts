/** Serves the feed of events, by which programs find what they missed, and the latest events, for people. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { EventFeed } from '../read-model/event-feed.ts';
import { type FeedEvent, fits } from '../read-model/feed-event.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { wait, waitFor } from '../serving/wait-for.ts';
import { type ModelOf, type ReadRequest, readRoute } from './bridge-route.ts';
import { cursor, filterText, limit, paged } from './page-query.ts';

export interface FeedDeps {
  readonly clock: Clock;
  readonly patient: PatientCallers;
}

const filters = {
  detail_type: filterText,
  project_id: filterText,
  status: filterText,
  action: filterText,
};

const feedQuery = z.strictObject({
  limit,
  cursor,
  from: z
    .union([z.enum(['beginning', 'now']), z.iso.datetime()])
    .default('beginning')
    .describe('Where a feed without a cursor starts: beginning, now, or a time (ISO 8601, in UTC).'),
  wait,
  ...filters,
});

const recentQuery = z.strictObject({ limit, cursor, ...filters });

export const eventAnswer = z.object({
  id: z.string(),
  detail_type: z.string(),
  source: z.string(),
  time: z.string(),
  detail: z.record(z.string(), z.unknown()),
  published: z.boolean().describe('Whether the bus has accepted the event.'),
});

export function eventRoutes(modelOf: ModelOf, deps: FeedDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listEvents',
        path: '/events',
        summary: 'Events as a feed: everything since a cursor, oldest first',
        description:
          'Use the feed to find events that a rule or a queue lost. An event may appear more than once, always with the same id. Without a cursor the feed starts with the oldest recorded event (from=beginning) with the next new one (from=now), or with what happened after a time (from=2026-01-16T21:00:00Z). With wait=N an empty answer is held back for up to N seconds.',
        access: 'operations:read',
        query: feedQuery,
        answer: z.object({ events: z.array(eventAnswer), cursor: z.string(), has_more: z.boolean() }),
      },
      async (request, { feed }) => readFeed(deps, request, feed),
    ),
    readRoute(
      modelOf,
      {
        id: 'listRecentEvents',
        path: '/events/recent',
        summary: 'The latest events, newest first',
        access: 'operations:read',
        query: recentQuery,
        answer: paged(eventAnswer, 'events'),
      },
      async ({ caller, query }, { feed }) => {
        const { limit: most, cursor: from, ...filter } = query;
        const page = await feed.recent({ limit: most, cursor: from, filter });
        return { status: 200, body: { events: page.items.filter(isVisibleTo(caller)), cursor: page.next } };
      },
    ),
  ];
}

/**
 * Reads one page of the feed. The cursor also passes the events that the caller must not see and those that the
 * filter leaves out.
 */
async function readFeed(
  { clock, patient }: FeedDeps,
  { caller, query, signal }: ReadRequest<typeof feedQuery>,
  feed: EventFeed,
): Promise<ApiAnswer> {
  const isVisible = isVisibleTo(caller);
  let position = query.cursor ?? feed.start(query.from);
  const read = async () => {
    const page = await feed.since(position, query.limit);
    position = page.cursor;
    const events = page.events.filter((event) => isVisible(event) && fits(event, query));
    return { events, has_more: page.hasMore };
  };
  const isDone = ({ events, has_more }: Awaited<ReturnType<typeof read>>) => events.length > 0 || has_more;
  const waitMs = query.wait * 1_000;
  const beginWait = () => patient.wait(caller, waitMs);
  const page = await waitFor({ read, isDone, waitMs, clock, signal, beginWait });
  return { status: 200, body: { ...page, cursor: position } };
}

/** Every caller of the account may see an event that is about no project. */
export function isVisibleTo(caller: Caller): (event: FeedEvent) => boolean {
  return ({ detail }) => typeof detail['project_id'] !== 'string' || maySee(caller, detail['project_id']);
}
