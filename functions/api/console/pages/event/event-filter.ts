/** Reads and writes the filter of events in the address of a page and in the form on it. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { eventCatalog } from '../../../../../shared/events/catalog.ts';
import type { FeedFilter } from '../../../read-model/feed-event.ts';
import type { Html } from '../../html/markup.ts';

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

export function filterOf(c: Context): FeedFilter {
  const value = (name: string) => c.req.query(name)?.slice(0, 100) || undefined;
  return {
    detail_type: value('detail_type'),
    status: value('status'),
    action: value('action'),
    project_id: value('project_id'),
  };
}

/** Returns the query string of an address, without a question mark. */
export function queryOf(filter: Readonly<Record<string, string | undefined>> | FeedFilter): string {
  return Object.entries(filter)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

/** `more` are further fields of the form. */
export function filterForm(action: string, filter: FeedFilter, button: string, more: Html | '' = ''): Html {
  const option = (value: string, chosen: string | undefined) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${value}</option>`;
  return html`<form class="filter" method="get" action="${action}">
<div><label for="detail_type">Event</label><select id="detail_type" name="detail_type"><option value="">any</option>${eventCatalog.map(({ detailType }) => option(detailType, filter.detail_type))}</select></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">any</option>${STATUSES.map((status) => option(status, filter.status))}</select></div>
<div><label for="action">Action</label><input id="action" name="action" value="${filter.action ?? ''}" size="18"></div>
<div><label for="project_id">Project</label><input id="project_id" name="project_id" value="${filter.project_id ?? ''}" size="22"></div>
${more}<button>${button}</button></form>`;
}
