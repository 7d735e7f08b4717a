/** Shows the latest events, with a filter. */

import { html } from 'hono/html';
import type { Clock } from '../../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../../bridge/event-routes.ts';
import type { FeedEvent, FeedFilter } from '../../../read-model/feed-event.ts';
import { filterFold } from '../../html/filter-fold.ts';
import { empty, type Html, pageHead } from '../../html/markup.ts';
import { eventTable } from '../../html/record/event-table.ts';
import type { PageTime } from '../../html/time/times.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from '../page.ts';
import { checkReading } from '../permission.ts';
import { rangeWords, type TimeRange, timeRangeFields, timeRangeOf } from '../time-range.ts';
import { filterForm, filterOf, queryOf } from './event-filter.ts';

/** One page of events stays short enough to read, and the link below it leads to older ones. */
const EVENTS_PER_PAGE = 50;

export interface EventsDeps extends RefusalDeps {
  readonly clock: Clock;
}

export function buildEvents(deps: EventsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const filter = filterOf(c);
    const cursor = c.req.query('cursor') || undefined;
    const range = timeRangeOf(c);
    const text = c.req.query('text')?.slice(0, 100).trim() || undefined;
    const request = { limit: EVENTS_PER_PAGE, cursor, filter, text, ...range };
    const [{ items, next }, names] = await Promise.all([model.feed.recent(request), model.projectNames()]);
    const events = items.filter(isVisibleTo(caller));
    const content = eventsPage({
      accountId: model.accountId,
      names,
      events,
      filter,
      range,
      text,
      more: next,
      at: pageTimeOf(c, deps.clock),
    });
    return { title: 'Events', about: '*', content };
  };
}

function eventsPage(view: {
  readonly accountId: string;
  readonly names: ReadonlyMap<string, string>;
  readonly events: readonly FeedEvent[];
  readonly filter: FeedFilter;
  readonly range: TimeRange;
  readonly text: string | undefined;
  readonly more: string | undefined;
  readonly at: PageTime;
}): Html {
  const { events, filter, range, text, more, at } = view;
  const query = queryOf(filter);
  const whole = queryOf({ ...filter, ...range, text });
  const chosen = [...Object.values(filter), text, ...rangeWords(range, at.zone)];
  const subscribe = html`<a class="button" href="/console/subscribe${query === '' ? '' : `?${query}`}">${query === '' ? 'Subscribe' : 'Subscribe to these'}</a>`;
  return html`${pageHead('Events', subscribe)}
${filterFold(chosen, filterForm('/console/events', filter, 'Show', html`<div><label for="text">Text</label><input id="text" name="text" value="${text ?? ''}" size="18" maxlength="100"></div>${timeRangeFields(range, at.zone)}`))}
${range.until === undefined ? '' : html`<p class="quiet">Events of an operation that changed again more than an hour after the end of the range are not in this list. Its own page has them.</p>`}
${events.length === 0 ? empty('No event on this page matches. The next page may have older ones.') : eventTable(view, events, at)}
${more === undefined ? '' : html`<p><a class="button" href="?${[whole, `cursor=${more}`].filter(Boolean).join('&')}">Older</a></p>`}`;
}
