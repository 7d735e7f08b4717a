/** Shows the latest events, with a filter. */

import { html } from 'hono/html';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import type { FeedEvent, FeedFilter } from '../../read-model/feed-event.ts';
import { eventTable } from '../html/event-table.ts';
import { empty, type Html } from '../html/markup.ts';
import type { PageTime } from '../html/times.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import { filterForm, filterOf, queryOf } from './event-filter.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from './page.ts';
import { checkReading } from './permission.ts';

/** One page of events stays short enough to read, and the link below it leads to older ones. */
const EVENTS_PER_PAGE = 50;

export interface EventsDeps extends RefusalDeps {
  readonly clock: Pick<Clock, 'now'>;
}

export function buildEvents(deps: EventsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const filter = filterOf(c);
    const cursor = c.req.query('cursor') || undefined;
    const { items, next } = await model.feed.recent({ limit: EVENTS_PER_PAGE, cursor, filter });
    const events = items.filter(isVisibleTo(caller));
    const content = eventsPage({
      accountId: model.accountId,
      events,
      filter,
      more: next,
      at: pageTimeOf(c, deps.clock),
    });
    return { title: 'Events', about: '*', content };
  };
}

function eventsPage(view: {
  readonly accountId: string;
  readonly events: readonly FeedEvent[];
  readonly filter: FeedFilter;
  readonly more: string | undefined;
  readonly at: PageTime;
}): Html {
  const { accountId, events, filter, more, at } = view;
  const query = queryOf(filter);
  return html`<h1>Events</h1>
${filterForm('/console/events', filter, 'Show')}
<p><a class="button" href="/console/subscribe${query === '' ? '' : `?${query}`}">Subscribe to these</a></p>
${events.length === 0 ? empty('No event on this page matches. The next page may have older ones.') : eventTable(accountId, events, at)}
${more === undefined ? '' : html`<p><a class="button" href="?${[query, `cursor=${more}`].filter(Boolean).join('&')}">Older</a></p>`}`;
}
