/**
 * Shows records in the same way on every page: a status as a coloured word with a mark, a project by its name and id,
 * and events as a table whose rows lead to their pages.
 */

import { html } from 'hono/html';
import type { RecordName } from '../../../../shared/store/keys.ts';
import type { FeedEvent } from '../../read-model/event-feed.ts';
import { accountPath, type Html, operationPath, projectPath, recordPath, stateBadge } from './markup.ts';
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
  return stateBadge(tone, MARKS[tone] ?? '', status);
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

/** Events do not have the names of projects, so `names` has them by id. On a phone each event is one line. */
export function eventTable(
  { accountId, names }: { readonly accountId: string; readonly names: ReadonlyMap<string, string> },
  events: readonly FeedEvent[],
  at: PageTime,
): Html {
  return html`<table class="lines"><thead><tr><th>When</th><th>What</th><th>Project</th><th>Event</th></tr></thead>
<tbody>${events.map(
    (event) => html`<tr>
<td><a href="${eventPath(accountId, event)}">${time(event.time, at)}</a></td>
<td>${resultOf(event)} ${subjectOf(accountId, event)}</td>
<td>${projectOf(accountId, event, names)}</td>
<td><span class="quiet">${event.detail_type}</span></td></tr>`,
  )}</tbody></table>`;
}

/** Says which record has the event in its journal. An event about the account itself is in none of a project. */
function recordOf({ detail_type, detail }: FeedEvent): RecordName | undefined {
  const text = (name: string) => (typeof detail[name] === 'string' ? detail[name] : undefined);
  const projectId = text('project_id');
  if (projectId === undefined) return undefined;
  const command = Object(detail['command']) as { readonly request_id?: unknown };
  const [kind] = detail_type.toLowerCase().split(' ') as [RecordName['kind']];
  const id = {
    project: projectId,
    operation: text('operation_id'),
    branch: text('branch_id'),
    compute: text('endpoint_id'),
    command: typeof command.request_id === 'string' ? command.request_id : undefined,
  }[kind];
  return id === undefined ? undefined : { kind, projectId, id };
}

export function eventPath(accountId: string, event: FeedEvent): string {
  const record = recordOf(event);
  const owner = record === undefined ? accountPath(accountId) : recordPath(accountId, record);
  return `${owner}/events/${encodeURIComponent(event.id)}`;
}

/** Links to what the event is about, and names the operation that changed a compute. */
export function subjectOf(accountId: string, event: FeedEvent): Html | '' {
  const record = recordOf(event);
  if (record === undefined || record.kind === 'project') return '';
  const { action, call, operation_id: operationId } = event.detail;
  const name = record.kind === 'operation' ? action : record.kind === 'command' ? call : undefined;
  const isCaused = record.kind === 'compute' && typeof operationId === 'string' && typeof action === 'string';
  const cause = isCaused ? operationPath(accountId, record.projectId, operationId) : '';
  return html`<a${typeof name === 'string' ? '' : html` class="id"`} href="${recordPath(accountId, record)}">${typeof name === 'string' ? name : record.id}</a>${isCaused ? html` <span class="quiet">by <a href="${cause}">${action}</a></span>` : ''}`;
}

export function resultOf({ detail_type, detail }: FeedEvent): Html | '' {
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
