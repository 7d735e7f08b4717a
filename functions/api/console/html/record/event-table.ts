/** Shows events as a table. Each row can be opened, and then shows the whole event as JSON. */

import { html } from 'hono/html';
import type { FeedEvent } from '../../../read-model/feed-event.ts';
import { type Html, json } from '../markup.ts';
import { branchPath, commandPath, computePath, operationPath } from '../paths.ts';
import { type PageTime, time } from '../time/times.ts';
import { badge } from './badge.ts';
import { projectLink } from './project-link.ts';

/** Events do not have the names of projects, so `names` has them by id. */
export function eventTable(
  { accountId, names }: { readonly accountId: string; readonly names: ReadonlyMap<string, string> },
  events: readonly FeedEvent[],
  at: PageTime,
): Html {
  return html`<table class="stack"><thead><tr><th>When</th><th>What</th><th>Project</th><th>Event</th></tr></thead>
<tbody>${events.map(
    (event) => html`<tr>
<td>${time(event.time, at)}</td>
<td>${subjectOf(accountId, event)} ${resultOf(event)}${causeOf(accountId, event)}</td>
<td>${projectOf(accountId, event, names)}</td>
<td><details id="event-${event.id}"><summary>${event.detail_type}</summary>${json({ source: event.source, 'detail-type': event.detail_type, time: event.time, detail: event.detail })}
<p><a href="/console/subscribe?detail_type=${encodeURIComponent(event.detail_type)}${filterOf(event)}">Subscribe to events like this</a></p></details></td></tr>`,
  )}</tbody></table>`;
}

/** Links to what the event is about: a compute or a branch whose state it reports, else an operation or a command. */
function subjectOf(accountId: string, { detail_type, detail }: FeedEvent): Html | '' {
  const text = (name: string) => (typeof detail[name] === 'string' ? detail[name] : undefined);
  const [projectId, operationId] = [text('project_id'), text('operation_id')];
  if (projectId === undefined) return '';
  const [endpointId, branchId, call] = [text('endpoint_id'), text('branch_id'), text('call')];
  if (detail_type.startsWith('Compute ') && endpointId !== undefined)
    return html`<a class="id" href="${computePath(accountId, projectId, endpointId)}">${endpointId}</a>`;
  if (detail_type.startsWith('Branch ') && branchId !== undefined)
    return html`<a class="id" href="${branchPath(accountId, projectId, branchId)}">${branchId}</a>`;
  if (operationId !== undefined)
    return html`<a href="${operationPath(accountId, projectId, operationId)}">${text('action') ?? operationId}</a>`;
  const requestId = requestIn(detail);
  if (call === undefined || requestId === undefined) return '';
  return html`<a href="${commandPath(accountId, projectId, requestId)}">${call}</a>`;
}

/** Names the operation that changed a compute. */
function causeOf(accountId: string, { detail_type, detail }: FeedEvent): Html | '' {
  const { project_id: projectId, operation_id: operationId, action } = detail;
  const isKnown = [projectId, operationId, action].every((each) => typeof each === 'string');
  if (!detail_type.startsWith('Compute ') || !isKnown) return '';
  const path = operationPath(accountId, String(projectId), String(operationId));
  return html` <span class="quiet">by <a href="${path}">${String(action)}</a></span>`;
}

function requestIn({ command }: FeedEvent['detail']): string | undefined {
  const requestId = (command as { readonly request_id?: unknown } | undefined)?.request_id;
  return typeof requestId === 'string' ? requestId : undefined;
}

function resultOf({ detail_type, detail }: FeedEvent): Html | '' {
  if (detail_type === 'Branch Ready') return badge('ready');
  if (detail_type === 'Branch Failed') return badge('failed');
  const word = detail['status'] ?? detail['state'] ?? detail['outcome'];
  return typeof word === 'string' ? badge(word) : '';
}

function projectOf(accountId: string, { detail }: FeedEvent, names: ReadonlyMap<string, string>): Html {
  const projectId = detail['project_id'];
  return typeof projectId === 'string'
    ? projectLink(accountId, projectId, names)
    : html`<span class="quiet">the account</span>`;
}

function filterOf({ detail }: FeedEvent): string {
  return (['status', 'action'] as const)
    .flatMap((name) =>
      typeof detail[name] === 'string' ? [`&${name}=${encodeURIComponent(detail[name])}`] : [],
    )
    .join('');
}
