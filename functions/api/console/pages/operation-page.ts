/**
 * Shows one operation. Alerts link to this page, so the verdict comes first, then who started it, then everything
 * else.
 */

import { html } from 'hono/html';
import type { CommandRecord } from '../../../../shared/core/records/command-record.ts';
import { isOpen, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { eventsOf, type FeedEvent } from '../../read-model/feed-event.ts';
import { badge } from '../html/badge.ts';
import { duration } from '../html/durations.ts';
import { facts, type Html, json } from '../html/markup.ts';
import { branchPath, operationPath, projectPath } from '../html/paths.ts';
import { age, type PageTime, time } from '../html/times.ts';
import type { Visitor } from '../session/visitor.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import type { SentAlerts } from './alert-history.ts';
import { type BuildPage, messagePage, NOTHING_HERE, pageTimeOf } from './page.ts';
import { checkReading } from './permission.ts';
import { type RouteDeps, readUpstream } from './upstream-view.ts';
import { readEndedDays, usualWords } from './usual-times.ts';

export interface OperationDeps extends RefusalDeps, RouteDeps {
  readonly alertsOf: (record: OperationRecord) => Promise<readonly SentAlerts[]>;
  readonly clock: Pick<Clock, 'now'>;
}

const NOT_SEEN_YET = messagePage(
  'Not seen yet',
  'The bridge has not seen this operation, or it was forgotten after 45 days.',
  404,
);

export function buildOperation(deps: OperationDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id = '', operation_id = '' } = c.req.param();
    if (!checkReading(deps, visitor, accountId, project_id)) return NOTHING_HERE;
    const record = await visitor.model.operation(project_id, operation_id);
    if (record === undefined) return NOT_SEEN_YET;
    const content = operationPage(await readView(deps, visitor, record, pageTimeOf(c, deps.clock)));
    return { title: `${record.action} ${record.status}`, about: operation_id, content };
  };
}

async function readView(
  deps: OperationDeps,
  visitor: Visitor,
  record: OperationRecord,
  at: PageTime,
): Promise<OperationView> {
  const { caller, model } = visitor;
  const { project_id, operation_id } = record;
  const [others, command, upstream, alerts, endedDays] = await Promise.all([
    model.openOperations(project_id),
    record.command && unlessUnreadable(model.command(project_id, record.command.request_id)),
    readUpstream(deps, 'getOperation', { caller, ids: { project_id, operation_id } }),
    deps.alertsOf(record),
    readEndedDays(visitor, project_id),
  ]);
  return {
    record,
    events: eventsOf(record),
    command,
    others: others.filter((other) => other.operation_id !== operation_id),
    upstream,
    alerts,
    usual: usualWords(record.action, endedDays),
    at,
  };
}

interface OperationView {
  readonly record: OperationRecord;
  readonly events: readonly FeedEvent[];
  readonly command: CommandRecord | undefined;
  readonly alerts: readonly SentAlerts[];
  /** These are the other open operations of the project. */
  readonly others: readonly OperationRecord[];
  /**
   * This is the upstream's present answer. It is undefined when the upstream gives none, or the caller may not ask.
   */
  readonly upstream: unknown;
  /** This says how long its action usually takes. It is undefined when too little is known. */
  readonly usual: string | undefined;
  readonly at: PageTime;
}

function operationPage(view: OperationView): Html {
  const { record, events, command, others, at } = view;
  const { account_id, project_id, operation_id, status } = record;
  const error = events.map(({ detail }) => detail['error']).findLast((text) => typeof text === 'string');
  return html`<p class="crumbs"><a href="/console">Account ${account_id}</a> › <a href="${projectPath(account_id, project_id)}">${project_id}</a></p>
<h1>${record.action}</h1>
<p class="verdict">${badge(status)} <span>${meaningOf(record)}</span></p>
${typeof error === 'string' ? html`<p class="notice bad">${error}</p>` : ''}
${facts([
  ['Project', html`<a class="id" href="${projectPath(account_id, project_id)}">${project_id}</a>`],
  ['Created', html`${time(record.created_at, at)} <span class="quiet">${age(record.created_at, at)}</span>`],
  [
    'In this status since',
    html`${time(record.status_observed_at, at)} <span class="quiet">${age(record.status_observed_at, at)}</span>`,
  ],
  ['Usually takes', view.usual],
  ['Failed attempts', record.failures_count],
  ['Started by', startedBy(record, command)],
  ['Alerts', alertWords(view.alerts)],
  [
    'Branch',
    record.branch_id &&
      html`<a class="id" href="${branchPath(account_id, project_id, record.branch_id)}">${record.branch_id}</a>`,
  ],
  ['Compute', record.endpoint_id && html`<span class="id">${record.endpoint_id}</span>`],
  ['Operation', html`<span class="id">${operation_id}</span>`],
])}
<h2>What happened</h2>
${historyTable(events, at)}
${command === undefined ? '' : commandPart(account_id, command, at)}
<h2>Other open operations of this project</h2>
${others.length === 0 ? html`<p class="empty">No other operation is open.</p>` : html`<ul>${others.map((other) => html`<li><a href="${operationPath(account_id, project_id, other.operation_id)}">${other.action}</a> ${badge(other.status)} <span class="quiet">${age(other.created_at, at)}</span></li>`)}</ul>`}
<h2>What the upstream says</h2>
${view.upstream === undefined ? html`<p class="empty">The upstream does not answer, or this token may not ask it.</p>` : html`<details id="upstream"><summary>All fields of the upstream</summary>${json(view.upstream)}</details>`}`;
}

function alertWords(alerts: readonly SentAlerts[]): string {
  if (alerts.length === 0)
    return 'None were sent: nothing about it required an alert, or no channel is set up.';
  return alerts
    .map(({ channel, sentCount, waitingCount, refusedCount }) =>
      [
        channel,
        sentCount > 0 && `${sentCount} sent`,
        waitingCount > 0 && `${waitingCount} waiting for a digest or for the channel`,
        refusedCount > 0 && `${refusedCount} refused by the channel, which does not show them`,
      ]
        .filter(Boolean)
        .join(', '),
    )
    .join('; ');
}

function meaningOf(record: OperationRecord): string {
  if (record.watch_ended)
    return 'The bridge no longer watches it: it was not retried, or it has vanished from the upstream.';
  if (record.status === 'failed') return 'The upstream may still retry it, and the bridge keeps watching.';
  if (isOpen(record)) return 'It has not ended.';
  return record.failures_count > 0 ? 'It has ended, after failed attempts.' : 'It has ended.';
}

function startedBy({ command }: OperationRecord, record: CommandRecord | undefined): Html {
  if (command === undefined) return html`<span class="quiet">It was not started through this bridge.</span>`;
  return html`${command.client_id}${record === undefined ? '' : html` (${record.call})`} <span class="quiet id">${command.request_id}</span>`;
}

/** Shows every status, oldest first, with how the bridge came to know it and how long it lasted. */
function historyTable(events: readonly FeedEvent[], at: PageTime): Html {
  if (events.length === 0)
    return html`<p class="empty">It had ended before the bridge first saw this account, so no event reports it.</p>`;
  return html`<table class="stack"><thead><tr><th>When</th><th>What</th><th>Seen by</th><th>Event</th></tr></thead>
<tbody>${events.map((event, index) => {
    const { status, new_failures: newFailures, observed_by: seenBy } = event.detail;
    const next = events[index + 1];
    const lasted = next === undefined ? '' : duration(Date.parse(next.time) - Date.parse(event.time));
    return html`<tr><td>${time(event.time, at)}</td>
<td>${typeof status === 'string' ? badge(status) : ''} ${event.detail_type === 'Operation State Changed' ? '' : event.detail_type}${Number(newFailures) > 0 ? html` <span class="bad">${String(newFailures)} more failed</span>` : ''} <span class="quiet">${lasted}</span></td>
<td>${typeof seenBy === 'string' ? seenBy : 'the poller'}</td>
<td><details id="event-${event.id}"><summary class="id">${event.id.slice(0, 12)} <span class="quiet">${event.published ? 'published' : 'not on the bus yet'}</span></summary>${json(event.detail)}</details></td></tr>`;
  })}</tbody></table>`;
}

function commandPart(accountId: string, command: CommandRecord, at: PageTime): Html {
  const { project_id, client_id, call, sent_at, operation_ids, is_settled } = command;
  return html`<h2>The command that started it</h2>
${facts([
  ['Sent by', client_id],
  ['Call', call],
  ['When', time(sent_at, at)],
  ['Settled', is_settled ? 'yes' : 'not yet'],
])}
<ul>${operation_ids.map((id) => html`<li><a class="id" href="${operationPath(accountId, project_id, id)}">${id}</a></li>`)}</ul>`;
}
