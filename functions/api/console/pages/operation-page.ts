/**
 * Shows one operation. Alerts link to this page, so the verdict comes first, then what can be done, then who started
 * it, then everything else.
 */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { alikeWords } from '../../../../shared/alerts/common-cause.ts';
import { isOpen, type OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { SentAlerts } from '../../read-model/alerts.ts';
import type { FeedEvent } from '../../read-model/event-feed.ts';
import {
  branchPath,
  commandPath,
  computePath,
  empty,
  endpointActionPath,
  facts,
  type Html,
  json,
  mutesPath,
  operationPath,
} from '../html/markup.ts';
import { badge, eventPath, projectCrumbs, projectLink } from '../html/records.ts';
import { age, duration, type PageTime, time, timeAndAge, upstreamDuration } from '../html/times.ts';
import { isOwnPath, type RefusalDeps, type Visitor, type VisitorDeps } from '../sign-in/visitor.ts';
import {
  attemptsOf,
  type OperationDeps,
  type OperationView,
  readOperationView,
  seenAfterMs,
  stateChanges,
  statusSince,
  supportText,
} from './operation-view.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  NOT_DONE,
  NOTHING_HERE,
  pageTimeOf,
  showPage,
} from './page.ts';
import { acknowledgeForm, latestError, settledWords, troubleOf } from './troubles.ts';
import { genuineForm, type RouteDeps, showOutcome } from './visitor-calls.ts';

const NOT_SEEN_YET = messagePage(
  'Not seen yet',
  'The bridge has not seen this operation, it had ended before the bridge came, or it was forgotten after 200 days.',
  404,
);

export function buildOperation(deps: OperationDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id = '', operation_id = '' } = c.req.param();
    if (!checkReading(deps, visitor, accountId, project_id)) return NOTHING_HERE;
    const record = await visitor.model.operation(project_id, operation_id);
    if (record === undefined) return NOT_SEEN_YET;
    const view = await readOperationView(deps, visitor, record, pageTimeOf(c, deps.clock));
    const repeats = c.req.query('repeats')?.slice(0, 100) || undefined;
    return {
      title: `${record.action} ${record.status}`,
      section: '/console/projects',
      about: operation_id,
      content: operationPage({ ...view, repeats }),
    };
  };
}

function operationPage(view: OperationView): Html {
  const { record, names } = view;
  const { account_id, project_id, status } = record;
  const error = latestError(record);
  return html`${projectCrumbs(account_id, project_id, names.get(project_id))}
<h1>${record.action}</h1>
<p class="verdict">${badge(status)} <span>${meaningOf(record)}</span></p>
${error === undefined ? '' : errorNotice(record, error)}
${storyNotices(view)}
${heldBackNotices(view)}
${operationActions(view)}
${factsOf(view)}
<h2>What happened</h2>
${historyTable(view)}
${attemptTable(view)}
${failedAlike(view)}
${commandFacts(view)}
<h2>Other open operations of this project</h2>
${otherOperations(view)}
<h2>What the upstream says</h2>
${view.upstream === undefined ? empty('The upstream does not answer, or this token may not ask it.') : html`<details id="upstream"><summary>All fields of the upstream</summary>${json(view.upstream)}</details>`}`;
}

/** Says what came before this operation and after it: what it repeats, and what has settled it. */
function storyNotices({ record, repeats, settledBy, at }: OperationView): Html {
  const path = (id: string) => operationPath(record.account_id, record.project_id, id);
  return html`${repeats === undefined ? '' : html`<p class="notice">It repeats <a href="${path(repeats)}">the operation that had failed</a>. This page shows each change.</p>`}
${settledBy === undefined ? '' : html`<p class="notice good">It needs nobody: <a href="${path(settledBy.operation_id)}">${settledWords(settledBy)}</a> of the same action on the same object has followed ${age(settledBy.created_at, at)}.</p>`}`;
}

/** What has ended well shows its last error without alarm. */
function errorNotice({ status }: OperationRecord, error: string): Html {
  return status === 'finished'
    ? html`<p class="notice">An earlier attempt failed: ${error}</p>`
    : html`<p class="notice bad">${error}</p>`;
}

function factsOf(view: OperationView): Html {
  const { record, at } = view;
  const { account_id, project_id, operation_id, branch_id, endpoint_id } = record;
  const latest = stateChanges(record).at(-1);
  return facts([
    ['Project', projectLink(account_id, project_id, view.names)],
    ['Created', timeAndAge(record.created_at, at)],
    [
      'In this status since',
      html`${timeAndAge(statusSince(record), at)}${latest === undefined ? '' : html` <span class="quiet">(last change seen +${duration(seenAfterMs(latest))})</span>`}`,
    ],
    [isOpen(record) ? 'Open for' : 'Took', upstreamDuration(lastedMsOf(view))],
    ['Usually takes', view.usual],
    ['Failed attempts', record.failures_count],
    ['Started by', startedBy(view)],
    ['Alerts', alertWords(view.alerts)],
    [
      'Branch',
      branch_id &&
        html`<a class="id" href="${branchPath(account_id, project_id, branch_id)}">${branch_id}</a>`,
    ],
    [
      'Compute',
      endpoint_id &&
        html`<a class="id" href="${computePath(account_id, project_id, endpoint_id)}">${endpoint_id}</a>`,
    ],
    ['Operation', html`<span class="id">${operation_id}</span>`],
  ]);
}

function lastedMsOf({ record, at }: OperationView): number {
  const endMs = isOpen(record) ? at.nowMs : Date.parse(record.updated_at);
  return Math.max(0, endMs - Date.parse(record.created_at));
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
    return 'The bridge no longer watches it: it was not retried, or it has vanished from the upstream, perhaps with its project.';
  if (record.status === 'failed')
    return 'It has failed and not ended: the upstream may retry it, and the bridge keeps watching.';
  if (record.status === 'error') return 'The upstream has given it up and will not try it again.';
  if (isOpen(record)) return 'It has not ended.';
  return record.failures_count > 0 ? 'It has ended, after failed attempts.' : 'It has ended.';
}

function otherOperations({ record: { account_id, project_id }, others, at }: OperationView): Html {
  if (others.length === 0) return empty('No other operation is open.');
  return html`<ul class="plain">${others.map((other) => html`<li><a href="${operationPath(account_id, project_id, other.operation_id)}">${other.action}</a> ${badge(other.status)} <span class="quiet">${age(other.created_at, at)}</span></li>`)}</ul>`;
}

/** A mute of the whole account shows no reason to a visitor with some projects: the list of mutes hides it, too. */
function heldBackNotices({ record, held, seesAll, at }: OperationView): Html {
  const { action } = record;
  const { mute, acknowledged } = held ?? {};
  const isShown = mute?.project_id !== undefined || seesAll;
  return html`${mute === undefined ? '' : html`<p class="notice">Alerts about ${action} in this project are muted until ${time(mute.until, at)}${isShown ? ` by ${mute.client_id}` : ''}.${isShown ? ` The reason: ${mute.reason}` : ''} <a href="${mutesPath({})}">All mutes</a></p>`}
${acknowledged === undefined ? '' : html`<p class="notice">${acknowledged.client_id} has acknowledged the failures of ${action} in this project (${time(acknowledged.at, at)})${acknowledged.reason === undefined ? '' : `: ${acknowledged.reason}`}.</p>`}`;
}

function operationActions(view: OperationView): Html {
  const { record } = view;
  return html`<div class="row">${repeatLink(view)}${acknowledging(view)}${muteLink(view)}${view.upstreamPage === undefined ? '' : html`<a class="button" href="${view.upstreamPage}" rel="noreferrer">Open at the upstream</a>`}<button type="button" data-copy="support" hidden>Copy for support</button></div>
${noRepeatWords(view)}
<details id="support-text"><summary>The text for support</summary><pre id="support" tabindex="0">${supportText(record)}</pre></details>`;
}

function repeatLink({ record, repeat }: OperationView): Html | '' {
  if (typeof repeat !== 'object') return '';
  const { account_id, project_id, operation_id } = record;
  const path = endpointActionPath(account_id, project_id, repeat);
  return html`<a class="button${isGivenUp(record) ? html` do` : ''}" href="${path}?repeats=${operation_id}">Repeat</a>`;
}

/** What has ended well needs no sentence on why it cannot be repeated. */
function noRepeatWords({ record, repeat }: OperationView): Html | '' {
  const isShown = typeof repeat === 'string' && (record.failures_count > 0 || isGivenUp(record));
  return isShown ? html`<p class="quiet">${repeat}</p>` : '';
}

/** Repeating is what helps only when the upstream will not try it again. What has ended well can be repeated, too. */
function isGivenUp(record: OperationRecord): boolean {
  return troubleOf(record, Date.parse(record.updated_at)) === 'given_up';
}

/** Offered while the operation itself is in trouble and no person has taken the incident. */
function acknowledging({ record, held, settledBy, mayMute, formKey, at }: OperationView): Html | '' {
  const isOffered = mayMute && settledBy === undefined && troubleOf(record, at.nowMs) !== undefined;
  if (held === undefined || held.acknowledged !== undefined || !isOffered) return '';
  const path = operationPath(record.account_id, record.project_id, record.operation_id);
  return acknowledgeForm({ formKey, path }, held, record);
}

/** The page of mutes asks until when, and why. */
function muteLink({ record, mayMute }: OperationView): Html | '' {
  if (!mayMute || record.failures_count === 0) return '';
  const path = mutesPath({ projectId: record.project_id, action: record.action });
  return html`<a class="button" href="${path}">Mute</a>`;
}

/** An operation that fails all day has more states and attempts than people read. */
const ROWS_MAX = 50;

/** Shows the latest states, oldest first, with how the bridge came to know it and how long it lasted. */
function historyTable({ record, events, at }: OperationView): Html {
  if (events.length === 0)
    return empty('It had ended before the bridge first saw this account, so no event reports it.');
  const changes = new Map(stateChanges(record).map((change) => [change.id, change]));
  const timeOf = (event: FeedEvent) => changes.get(event.id)?.operation_updated_at ?? event.time;
  const shown = events.slice(-ROWS_MAX);
  return html`${shown.length === events.length ? '' : html`<p class="quiet">The latest ${ROWS_MAX} of ${events.length} events are shown. The text for support has every state.</p>`}
<table class="stack"><thead><tr><th>When, by the upstream</th><th>What</th><th>Seen</th><th>Event</th></tr></thead>
<tbody>${shown.map((event, index) => {
    const next = shown[index + 1];
    const lastedMs = next && Math.max(0, Date.parse(timeOf(next)) - Date.parse(timeOf(event)));
    const change = changes.get(event.id);
    return html`<tr><td>${time(timeOf(event), at)}</td>
<td>${whatOf(event)} <span class="quiet">${lastedMs === undefined ? '' : `for ${upstreamDuration(lastedMs)}`}</span></td>
<td>${change === undefined ? '' : html`+${duration(seenAfterMs(change))} `}<span class="quiet">${seenBy(event)}</span></td>
<td><a class="id" href="${eventPath(record.account_id, event)}">${event.id.slice(0, 12)}</a> <span class="quiet">${event.published ? 'published' : 'not on the bus yet'}</span></td></tr>`;
  })}</tbody></table>`;
}

function whatOf({ detail, detail_type }: FeedEvent): Html {
  const { status } = detail;
  return html`${typeof status === 'string' ? badge(status) : ''} ${detail_type === 'Operation State Changed' ? '' : detail_type}${failedWords(Number(detail['failures_count'] ?? 0), Number(detail['new_failures'] ?? 0))}`;
}

/** Attempts that failed between two readings stand together. */
function failedWords(failuresCount: number, newFailures: number): Html | '' {
  if (newFailures === 0) return '';
  const first = failuresCount - newFailures + 1;
  return html` <span class="bad">${newFailures === 1 ? `attempt ${failuresCount}` : `attempts ${first} to ${failuresCount}`} failed</span>`;
}

function seenBy({ detail }: FeedEvent): string {
  const observedBy = detail['observed_by'];
  return `by ${typeof observedBy === 'string' ? observedBy : 'the poller'}`;
}

/** An operation that has not failed has one attempt, which the history shows. */
function attemptTable({
  record,
  at,
}: {
  readonly record: OperationView['record'];
  readonly at: PageTime;
}): Html | '' {
  if (record.failures_count === 0) return '';
  const attempts = attemptsOf(record);
  const shown = attempts.slice(-ROWS_MAX);
  return html`<h2>Attempts</h2>
${shown.length === attempts.length ? '' : html`<p class="quiet">Attempts before number ${shown[0]?.first} are not shown.</p>`}
<table class="stack"><thead><tr><th>Attempt</th><th>Outcome</th><th>When, by the upstream</th><th>Error</th></tr></thead>
<tbody>${shown.map(
    ({
      first,
      last,
      outcome,
      at: changedAt,
      error,
    }) => html`<tr><td data-label="Attempt">${first === last ? first : `${first} to ${last}`}</td>
<td><span class="${outcome === 'failed' || outcome === 'given up' ? 'bad' : outcome === 'ended' ? 'good' : 'busy'}">${outcome}</span></td>
<td>${timeAndAge(changedAt, at)}</td><td>${error ?? ''}</td></tr>`,
  )}</tbody></table>`;
}

function startedBy({ record, command }: OperationView): Html {
  const { account_id, project_id, command: origin } = record;
  if (origin === undefined) return html`<span class="quiet">It was not started through this bridge.</span>`;
  return html`${origin.client_id}${command === undefined ? '' : html` (${command.call})`} <a class="id" href="${commandPath(account_id, project_id, origin.request_id)}">${origin.request_id}</a>`;
}

function commandFacts({ record, command, mayAudit, at }: OperationView): Html | '' {
  if (command === undefined) return '';
  const { account_id, project_id, client_id, request_id, call, sent_at, operation_ids, is_settled } = command;
  const others = operation_ids.filter((id) => id !== record.operation_id);
  return html`<h2>The command that started it</h2>
${facts([
  ['Sent by', client_id],
  ['Call', call],
  ['When', time(sent_at, at)],
  ['Settled', is_settled ? 'yes' : 'not yet'],
  [
    'Command',
    html`<a class="id" href="${commandPath(account_id, project_id, request_id)}">${request_id}</a>`,
  ],
  [
    'Audit',
    mayAudit
      ? html`<a href="/console/audit?client_id=${encodeURIComponent(client_id)}&amp;project_id=${encodeURIComponent(project_id)}">What ${client_id} did here</a>`
      : undefined,
  ],
])}
${others.length === 0 ? '' : html`<p>It has also started:</p><ul class="plain">${others.map((id) => html`<li><a class="id" href="${operationPath(account_id, project_id, id)}">${id}</a></li>`)}</ul>`}`;
}

const SHOWN_MAX = 5;

/** The alerts say what the cause probably is by the same rule. Without evidence no cause is named. */
function failedAlike({ record, alike, common, seesAll, names, at }: OperationView): Html | '' {
  if (record.failures_count === 0) return '';
  const { account_id, action } = record;
  const now = common && (seesAll || common.is_service);
  const words = common && (seesAll ? `${alikeWords(common)}.` : 'probably the service.');
  const others = alike.length === 1 ? 'One other project' : `${alike.length} other projects`;
  return html`<h2>Did others fail alike?</h2>
${now ? html`<p>Failing alike now: ${words}</p>` : ''}
${alike.length === 0 ? empty(`No other project had its last failure of the day with ${action}, as far as was looked.`) : html`<p>${others} failed with ${action} in the last 24 hours.</p><ul class="plain">${alike.slice(0, SHOWN_MAX).map(({ project_id, operation_id, status, updated_at }) => html`<li>${projectLink(account_id, project_id, names)} <a href="${operationPath(account_id, project_id, operation_id)}">${badge(status)}</a> ${timeAndAge(updated_at, at)}</li>`)}</ul>`}`;
}

export type AcknowledgeSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

export function addAcknowledgeSwitch(app: Hono, deps: AcknowledgeSwitchDeps): void {
  app.post('/incidents/:incident_id/acknowledge', forVisitors(deps, acknowledge));
}

async function acknowledge(deps: AcknowledgeSwitchDeps, c: Context, visitor: Visitor): Promise<Response> {
  const form = await genuineForm(deps, c, visitor, 'consoleAcknowledge');
  const route = deps.routes.find(({ id }) => id === 'acknowledgeIncident');
  const mayAct = checkScope(deps, visitor, 'alerts:mute', 'consoleAcknowledge');
  if (form === undefined || route === undefined || !mayAct) return showPage(c, visitor, NOT_DONE);
  const ids = { incident_id: c.req.param('incident_id') ?? '' };
  const operation = {
    project_id: form.get('project_id') ?? '',
    operation_id: form.get('operation_id') ?? '',
  };
  const answer = await deps.call(route, { caller: visitor.caller, ids, body: { operation } });
  const asked = form.get('back') ?? '';
  const backTo = isOwnPath(asked) ? asked : '/console';
  return showOutcome(c, visitor, answer, { what: 'The acknowledgement', backTo });
}
