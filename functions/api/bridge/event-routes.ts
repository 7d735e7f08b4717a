/**
 * Serves the feed of events, by which programs find what they missed, the latest events, for people, and the test
 * event, by which a subscriber tries a rule and what is behind it.
 */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { DETAIL_TYPES, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type EventFeed, type FeedEvent, fits } from '../read-model/event-feed.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { wait } from '../serving/waiting.ts';
import {
  cursor,
  filterList,
  limit,
  type ModelOf,
  paged,
  type ReadRequest,
  readPatiently,
  readRoute,
  type WaitDeps,
} from './bridge-route.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

const filters = {
  detail_type: filterList,
  project_id: filterList,
  status: filterList,
  action: filterList,
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

export function eventRoutes(modelOf: ModelOf, deps: WaitDeps): readonly Route[] {
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
        const isVisible = isVisibleTo(caller);
        const page = await feed.recent({ limit: most, cursor: from, filter, isVisible });
        return { status: 200, body: { events: page.items, cursor: page.next } };
      },
    ),
  ];
}

/**
 * Reads one page of the feed. The cursor also passes the events that the caller must not see and those that the
 * filter leaves out.
 */
async function readFeed(
  deps: WaitDeps,
  request: ReadRequest<typeof feedQuery>,
  feed: EventFeed,
): Promise<ApiAnswer> {
  const { caller, query } = request;
  const isVisible = isVisibleTo(caller);
  let position = query.cursor ?? feed.start(query.from);
  const read = async () => {
    const page = await feed.since(position, query.limit);
    position = page.cursor;
    const events = page.events.filter((event) => isVisible(event) && fits(event, query));
    return { events, has_more: page.hasMore };
  };
  const isDone = ({ events, has_more }: Awaited<ReturnType<typeof read>>) => events.length > 0 || has_more;
  const page = await readPatiently(deps, request, { read, isDone });
  return { status: 200, body: { ...page, cursor: position } };
}

/** Every caller of the account may see an event that is about no project. */
export function isVisibleTo(caller: Caller): (event: FeedEvent) => boolean {
  return ({ detail }) => typeof detail['project_id'] !== 'string' || maySee(caller, detail['project_id']);
}

export interface TriggerDeps {
  readonly bus: EventBus;
  readonly clock: Clock;
}

const testEventBody = z.strictObject({
  detail_type: z.enum(Object.values(DETAIL_TYPES)),
  detail: z.record(z.string(), z.unknown()),
});

export function triggerRoutes({ bus, clock }: TriggerDeps): readonly Route[] {
  return [
    {
      id: 'triggerTestEvent',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/events/test`,
      summary: 'Publish a test event',
      description: `The event goes to the bus with the source \`${TEST_EVENT_SOURCE}\`, so only rules that ask for this source get it. It is not recorded: it appears neither in the feed nor in the archive, and it raises no alert. The account is that of the caller, whatever the detail says. A caller may do this 30 times a minute.`,
      group: 'Bridge',
      access: 'events:trigger',
      isAccountWide: true,
      isClosedWhilePaused: true,
      limit: 'wishes',
      body: testEventBody,
      status: 202,
      answer: z.object({
        source: z.literal(TEST_EVENT_SOURCE),
        detail_type: z.string(),
        event_id: z
          .string()
          .optional()
          .describe("EventBridge's id of the event, by which it can be followed."),
      }),
      async handle(request) {
        const { detail_type, detail } = testEventBody.parse(request.body);
        const [outcome] = await bus.publish([
          {
            source: TEST_EVENT_SOURCE,
            detailType: detail_type,
            detail: JSON.stringify({ ...detail, account_id: request.caller.account_id }),
            time: new Date(clock.now()).toISOString(),
          },
        ]);
        if (outcome?.kind !== 'accepted') throw notAccepted();
        const { eventId: event_id } = outcome;
        return {
          status: 202,
          body: { source: TEST_EVENT_SOURCE, detail_type, ...(event_id && { event_id }) },
        };
      },
    },
  ];
}

function notAccepted(): Problem {
  return new Problem('bus-unavailable', {
    detail: 'The bus did not accept the event; try again in some seconds.',
    headers: { 'retry-after': '5' },
    provesNoWork: true,
  });
}
