/** Shows the latest events, with a filter. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { eventCatalog } from '../../../../shared/events/catalog.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import { type FeedEvent, type FeedFilter, SEARCH_QUERIES_MAX } from '../../read-model/event-feed.ts';
import { empty, filterFold, type Html, pageHead } from '../html/markup.ts';
import { eventTable } from '../html/records.ts';
import {
  type PageTime,
  rangeWords,
  type TimeRange,
  time,
  timeRangeFields,
  timeRangeOf,
} from '../html/times.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';

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
    const names = await model.projectNames();
    const isNarrow = [text, caller.projectIds, ...Object.values(filter)].some((value) => value !== undefined);
    const isVisible = isVisibleTo(caller);
    const request = { limit: EVENTS_PER_PAGE, cursor, filter, isVisible, text, names, ...range };
    const queriesMax = isNarrow ? SEARCH_QUERIES_MAX : undefined;
    const { items: events, next, back_to } = await model.feed.recent({ ...request, queriesMax });
    const content = eventsPage({
      accountId: model.accountId,
      names,
      events,
      filter,
      range,
      text,
      more: next,
      backTo: isNarrow && events.length < EVENTS_PER_PAGE ? back_to : undefined,
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
  /** What changed before this time was not looked at. */
  readonly backTo: string | undefined;
  readonly at: PageTime;
}): Html {
  const { events, filter, range, text, more, backTo, at } = view;
  const query = queryOf(filter);
  const whole = queryOf({ ...filter, ...range, text });
  const chosen = [...Object.values(filter), text, ...rangeWords(range, at.zone)];
  const subscribe = html`<a class="button" href="/console/subscribe${query === '' ? '' : `?${query}`}">${query === '' ? 'Subscribe' : 'Subscribe to these'}</a>`;
  return html`${pageHead('Events', subscribe)}
${filterFold(chosen, filterForm('/console/events', filter, 'Show', html`<div><label for="text">Words</label><input id="text" name="text" value="${text ?? ''}" size="18" maxlength="100"></div>${timeRangeFields(range, at.zone)}`))}
${range.until === undefined ? '' : html`<p class="quiet">Events of an operation that changed again more than an hour after the end of the range are not in this list. Its own page has them.</p>`}
${events.length === 0 ? empty(backTo === undefined ? 'No event matches.' : 'No event matches so far.') : eventTable(view, events, at)}
${backTo === undefined ? '' : html`<p class="quiet">The page has looked at ${EVENTS_PER_PAGE * SEARCH_QUERIES_MAX} changed records, back to ${time(backTo, at)}. "Older" goes on from there.</p>`}
${more === undefined ? '' : html`<p><a class="button" href="?${[whole, `cursor=${more}`].filter(Boolean).join('&')}">Older</a></p>`}`;
}

const STATUSES = [
  'scheduling',
  'running',
  'finished',
  'failed',
  'cancelling',
  'cancelled',
  'skipped',
  'error',
];

function filterOf(c: Context): FeedFilter {
  const value = (name: string) => c.req.query(name)?.slice(0, 100) || undefined;
  return {
    detail_type: value('detail_type'),
    status: value('status'),
    action: value('action'),
    project_id: value('project_id'),
  };
}

/** Returns the query string of an address, without a question mark. */
function queryOf(filter: Readonly<Record<string, string | undefined>> | FeedFilter): string {
  return Object.entries(filter)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

/** `more` are further fields of the form. */
function filterForm(action: string, filter: FeedFilter, button: string, more: Html | '' = ''): Html {
  const option = (value: string, chosen: string | undefined) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${value}</option>`;
  return html`<form class="filter" method="get" action="${action}">
<div><label for="detail_type">Event</label><select id="detail_type" name="detail_type"><option value="">any</option>${eventCatalog.map(({ detailType }) => option(detailType, filter.detail_type))}</select></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">any</option>${STATUSES.map((status) => option(status, filter.status))}</select></div>
<div><label for="action">Action</label><input id="action" name="action" value="${filter.action ?? ''}" size="18"></div>
<div><label for="project_id">Project</label><input id="project_id" name="project_id" value="${filter.project_id ?? ''}" size="22"></div>
${more}<button>${button}</button></form>`;
}
