/** Events with filters, and how to subscribe to what a filter shows. */

import { html } from 'hono/html';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { FeedEvent, FeedFilter } from '../bridge/event-feed.ts';
import { eventTable } from './event-table.ts';
import { empty, type Html } from './parts.ts';

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

export function eventsPage(view: {
  readonly accountId: string;
  readonly events: readonly FeedEvent[];
  readonly filter: FeedFilter;
  readonly more: string | undefined;
}): Html {
  const { accountId, events, filter, more } = view;
  const query = queryOf(filter);
  return html`<h1>Events</h1>
${filterForm('/console/events', filter, 'Show')}
<p><a class="button" href="/console/subscribe${query === '' ? '' : `?${query}`}">Subscribe to these</a></p>
${events.length === 0 ? empty('No event fits. Older ones may be on the next page.') : eventTable(accountId, events)}
${more === undefined ? '' : html`<p><a class="button" href="?${[query, `cursor=${more}`].filter(Boolean).join('&')}">Older</a></p>`}`;
}

export interface Tested {
  readonly matched: number;
  readonly of: number;
}

export function subscribePage(view: {
  readonly busName: string;
  readonly filter: FeedFilter;
  readonly pattern: object;
  readonly tested: Tested;
}): Html {
  const { busName, filter, pattern, tested } = view;
  const text = JSON.stringify(pattern, null, 2);
  const line = JSON.stringify(pattern).replaceAll("'", "'\\''");
  const cli = `aws events put-rule --name my-rule --event-bus-name ${busName} --event-pattern '${line}'`;
  const cdk = `new events.CfnRule(this, 'MyRule', {\n  eventBusName: '${busName}',\n  eventPattern: ${text.replaceAll('\n', '\n  ')},\n  targets: [{ id: 'queue', arn: queue.queueArn }],\n});`;
  return html`<h1>Subscribe</h1>
${filterForm('/console/subscribe', filter, 'Make the pattern')}
<p class="verdict" role="status">Would have matched ${tested.matched} of the last ${tested.of} events</p>
${snippet('pattern', 'EventBridge pattern', text)}
${snippet('cdk', 'AWS CDK', cdk)}
${snippet('cli', 'AWS CLI', cli)}
<p class="quiet">Deliveries are at least once: drop a <code>detail.id</code> that you have seen. Leave replays out with <code>"replay-name": [{"exists": false}]</code> where they would hurt.</p>`;
}

/** The very pattern for a rule; a filter that says nothing takes every event of the bridge. */
export function patternOf({ detail_type, ...rest }: FeedFilter): object {
  const detail = Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
  );
  return {
    source: [EVENT_SOURCE],
    ...(detail_type !== undefined && { 'detail-type': [detail_type] }),
    ...(Object.keys(detail).length > 0 && { detail }),
  };
}

function snippet(id: string, title: string, text: string): Html {
  return html`<h2>${title}</h2><pre id="${id}" tabindex="0">${text}</pre><button type="button" data-copy="${id}" hidden>Copy</button>`;
}

function filterForm(action: string, filter: FeedFilter, button: string): Html {
  const option = (value: string, chosen: string | undefined) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${value}</option>`;
  return html`<form class="filter" method="get" action="${action}">
<div><label for="detail_type">Event</label><select id="detail_type" name="detail_type"><option value="">any</option>${eventCatalog.map(({ detailType }) => option(detailType, filter.detail_type))}</select></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">any</option>${STATUSES.map((status) => option(status, filter.status))}</select></div>
<div><label for="action">Action</label><input id="action" name="action" value="${filter.action ?? ''}" size="18"></div>
<div><label for="project_id">Project</label><input id="project_id" name="project_id" value="${filter.project_id ?? ''}" size="22"></div>
<button>${button}</button></form>`;
}

function queryOf(filter: FeedFilter): string {
  return Object.entries(filter)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}
