/** Shows events as a table. Each row can be opened, and then shows the whole event as JSON. */

import { html } from 'hono/html';
import type { FeedEvent } from '../../../read-model/feed-event.ts';
import { type Html, json } from '../markup.ts';
import { operationPath, projectPath } from '../paths.ts';
import { type PageTime, time } from '../time/times.ts';
import { badge } from './badge.ts';

export function eventTable(accountId: string, events: readonly FeedEvent[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>When</th><th>What</th><th>Where</th><th>Event</th></tr></thead>
<tbody>${events.map(
    (event) => html`<tr>
<td>${time(event.time, at)}</td>
<td>${whatOf(accountId, event)}</td>
<td>${whereOf(accountId, event)}</td>
<td><details id="event-${event.id}"><summary>${event.detail_type}</summary>${json({ source: event.source, 'detail-type': event.detail_type, time: event.time, detail: event.detail })}
<p><a href="/console/subscribe?detail_type=${encodeURIComponent(event.detail_type)}${filterOf(event)}">Subscribe to events like this</a></p></details></td></tr>`,
  )}</tbody></table>`;
}

function whatOf(accountId: string, { detail }: FeedEvent): Html {
  const { action, status, outcome, operation_id: operationId, project_id: projectId } = detail;
  const word = typeof status === 'string' ? badge(status) : typeof outcome === 'string' ? badge(outcome) : '';
  if (typeof operationId !== 'string' || typeof projectId !== 'string') return html`${word}`;
  return html`<a href="${operationPath(accountId, projectId, operationId)}">${String(action)}</a> ${word}`;
}

function whereOf(accountId: string, { detail }: FeedEvent): Html {
  const projectId = detail['project_id'];
  return typeof projectId === 'string'
    ? html`<a class="id" href="${projectPath(accountId, projectId)}">${projectId}</a>`
    : html`<span class="quiet">the account</span>`;
}

function filterOf({ detail }: FeedEvent): string {
  return (['status', 'action'] as const)
    .flatMap((name) =>
      typeof detail[name] === 'string' ? [`&${name}=${encodeURIComponent(detail[name])}`] : [],
    )
    .join('');
}
