/** One operation: where the link of an alert leads. The verdict first, then who, then everything that is known. */

import { html } from 'hono/html';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { isOpen, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { FeedEvent } from '../bridge/event-feed.ts';
import type { ToldAlert } from './alert-history.ts';
import { age, badge, duration, facts, type Html, json, operationPath, projectPath, time } from './parts.ts';

export interface OperationView {
  readonly record: OperationRecord;
  readonly events: readonly FeedEvent[];
  readonly command: CommandRecord | undefined;
  readonly alerts: readonly ToldAlert[];
  /** Others of the project that are open or have failed lately. */
  readonly others: readonly OperationRecord[];
  /** As the upstream answers right now; undefined: it does not, or the caller may not ask. */
  readonly upstream: unknown;
  readonly nowMs: number;
}

export function operationPage(view: OperationView): Html {
  const { record, events, command, others, nowMs } = view;
  const { account_id, project_id, operation_id, status } = record;
  const error = events.map(({ detail }) => detail['error']).findLast((text) => typeof text === 'string');
  return html`<p class="crumbs"><a href="/console">Account ${account_id}</a> › <a href="${projectPath(account_id, project_id)}">${project_id}</a></p>
<h1>${record.action}</h1>
<p class="verdict">${badge(status)} <span>${meaningOf(record)}</span></p>
${typeof error === 'string' ? html`<p class="notice bad">${error}</p>` : ''}
${facts([
  ['Project', html`<a class="id" href="${projectPath(account_id, project_id)}">${project_id}</a>`],
  ['Created', html`${time(record.created_at)} <span class="quiet">${age(record.created_at, nowMs)}</span>`],
  [
    'In this status since',
    html`${time(record.status_observed_at)} <span class="quiet">${age(record.status_observed_at, nowMs)}</span>`,
  ],
  ['Failed attempts', record.failures_count],
  ['Started by', startedBy(record, command)],
  ['People were told', toldWords(view.alerts)],
  ['Branch', record.branch_id && html`<span class="id">${record.branch_id}</span>`],
  ['Compute', record.endpoint_id && html`<span class="id">${record.endpoint_id}</span>`],
  ['Operation', html`<span class="id">${operation_id}</span>`],
])}
<h2>What happened</h2>
${historyTable(events)}
${command === undefined ? '' : commandPart(account_id, command)}
<h2>Also going on in this project</h2>
${others.length === 0 ? html`<p class="empty">Nothing else is open.</p>` : html`<ul>${others.map((other) => html`<li><a href="${operationPath(account_id, project_id, other.operation_id)}">${other.action}</a> ${badge(other.status)} <span class="quiet">${age(other.created_at, nowMs)}</span></li>`)}</ul>`}
<h2>As the upstream has it</h2>
${view.upstream === undefined ? html`<p class="empty">It does not answer, or this token may not ask.</p>` : html`<details id="upstream"><summary>Its own fields</summary>${json(view.upstream)}</details>`}`;
}

function toldWords(alerts: readonly ToldAlert[]): string {
  if (alerts.length === 0) return 'no, nothing of it was worth an alert, or no channel is set up';
  return alerts
    .map(({ channel, toldCount, waitingCount, refusedCount }) =>
      [
        channel,
        toldCount > 0 && `${toldCount} sent`,
        waitingCount > 0 && `${waitingCount} waiting for a digest or the channel`,
        refusedCount > 0 && `${refusedCount} refused by the channel and not shown to anybody there`,
      ]
        .filter(Boolean)
        .join(', '),
    )
    .join('; ');
}

function meaningOf(record: OperationRecord): string {
  if (record.watch_ended) return 'Nobody watches it any more: it was not retried, or it has vanished.';
  if (record.status === 'failed') return 'It may still be retried; the bridge keeps watching.';
  if (isOpen(record)) return 'It has not ended.';
  return record.failures_count > 0 ? 'It has ended, after failed attempts.' : 'It has ended.';
}

function startedBy({ command }: OperationRecord, record: CommandRecord | undefined): Html {
  if (command === undefined) return html`<span class="quiet">not through this bridge</span>`;
  return html`${command.client_id}${record === undefined ? '' : html` (${record.call})`} <span class="quiet id">${command.request_id}</span>`;
}

/** Oldest first: every state with how it came to be known, and for how long it lasted. */
function historyTable(events: readonly FeedEvent[]): Html {
  if (events.length === 0)
    return html`<p class="empty">It had ended before the bridge first saw this account; no event tells of it.</p>`;
  return html`<table class="stack"><thead><tr><th>When</th><th>What</th><th>Seen by</th><th>Event</th></tr></thead>
<tbody>${events.map((event, index) => {
    const { status, new_failures: newFailures, observed_by: seenBy } = event.detail;
    const next = events[index + 1];
    const lasted = next === undefined ? '' : duration(Date.parse(next.time) - Date.parse(event.time));
    return html`<tr><td>${time(event.time)}</td>
<td>${typeof status === 'string' ? badge(status) : ''} ${event.detail_type === 'Operation State Changed' ? '' : event.detail_type}${Number(newFailures) > 0 ? html` <span class="bad">${String(newFailures)} more failed</span>` : ''} <span class="quiet">${lasted}</span></td>
<td>${typeof seenBy === 'string' ? seenBy : 'the poller'}</td>
<td><details id="event-${event.id}"><summary class="id">${event.id.slice(0, 12)} <span class="quiet">${event.published ? 'published' : 'not on the bus yet'}</span></summary>${json(event.detail)}</details></td></tr>`;
  })}</tbody></table>`;
}

function commandPart(accountId: string, command: CommandRecord): Html {
  const { project_id, client_id, call, sent_at, operation_ids, is_settled } = command;
  return html`<h2>The command that started it</h2>
${facts([
  ['Sent by', client_id],
  ['Call', call],
  ['When', time(sent_at)],
  ['Settled', is_settled ? 'yes' : 'not yet'],
])}
<ul>${operation_ids.map((id) => html`<li><a class="id" href="${operationPath(accountId, project_id, id)}">${id}</a></li>`)}</ul>`;
}
