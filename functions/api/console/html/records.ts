/**
 * Shows records in the same way on every page: a status as a coloured word with a mark, a project by its name and id,
 * and events as a table whose rows can be opened.
 */

import { html } from 'hono/html';
import type { FeedEvent } from '../../read-model/event-feed.ts';
import {
  branchPath,
  commandPath,
  computePath,
  type Html,
  json,
  operationPath,
  projectPath,
} from './markup.ts';
import { type PageTime, time } from './times.ts';

const TONES: Readonly<Record<string, string>> = {
  finished: 'good',
  skipped: 'calm',
  cancelled: 'calm',
  failed: 'bad',
  error: 'bad',
  running: 'busy',
  scheduling: 'busy',
  cancelling: 'busy',
  active: 'good',
  idle: 'calm',
  init: 'busy',
  pending: 'busy',
  ready: 'good',
  queued: 'busy',
  sent: 'busy',
  succeeded: 'good',
  refused: 'bad',
  expired: 'bad',
  incomplete: 'bad',
};

/** A mark stands beside the word, for people who cannot distinguish the colours. */
const MARKS: Readonly<Record<string, string>> = { good: '●', calm: '○', bad: '▲', busy: '◐', odd: '?' };

/** Returns the class name of the status's colour, which is `odd` for an unknown status. */
export function toneOf(status: string): string {
  return TONES[status] ?? 'odd';
}

export function badge(status: string): Html {
  const tone = toneOf(status);
  return html`<span class="badge ${tone}"><span aria-hidden="true">${MARKS[tone] ?? ''}</span> ${status}</span>`;
}

/** Leads from a page about a part of a project back to the project and to the overview. */
export function projectCrumbs(accountId: string, projectId: string, name: string | undefined): Html {
  return html`<p class="crumbs"><a href="/console">Overview</a> › <a href="/console/projects">Projects</a> › <a href="${projectPath(accountId, projectId)}">${name ?? projectId}</a></p>`;
}

export function projectLink(accountId: string, projectId: string, names: ReadonlyMap<string, string>): Html {
  const name = names.get(projectId);
  const path = projectPath(accountId, projectId);
  if (name === undefined || name === projectId) return html`<a class="id" href="${path}">${projectId}</a>`;
  return html`<a href="${path}">${name}</a> <span class="id quiet">${projectId}</span>`;
}

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
