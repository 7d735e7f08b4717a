/**
 * Shows one operation. Alerts link to this page, so the verdict comes first, then what can be done, then who started
 * it, then everything else.
 */

import { html } from 'hono/html';
import { isOpen, type OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import { latestError, seenAfterMs, stateChanges, statusSince } from '../../deciding/operation-story.ts';
import { empty, facts, type Html, json } from '../../html/markup.ts';
import { branchPath, computePath, operationPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { projectCrumbs, projectLink } from '../../html/record/project-link.ts';
import { duration, upstreamDuration } from '../../html/time/durations.ts';
import { age, timeAndAge } from '../../html/time/times.ts';
import { type BuildPage, messagePage, NOTHING_HERE, pageTimeOf } from '../page.ts';
import { checkReading } from '../permission.ts';
import type { SentAlerts } from './alert-history.ts';
import { failedAlike } from './failed-alike.ts';
import { heldBackNotices } from './held-back-notices.ts';
import { operationActions } from './operation-actions.ts';
import { attemptTable, historyTable } from './operation-history.ts';
import { type OperationDeps, type OperationView, readOperationView } from './operation-view.ts';
import { commandFacts, startedBy } from './started-by.ts';

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
    return {
      title: `${record.action} ${record.status}`,
      section: '/console/projects',
      about: operation_id,
      content: operationPage(view),
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
    [isOpen(record) ? 'Open for' : 'Took', upstreamDuration(lastedMs(view))],
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

function lastedMs({ record, at }: OperationView): number {
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
    return 'The bridge no longer watches it: it was not retried, or it has vanished from the upstream.';
  if (record.status === 'failed') return 'The upstream may still retry it, and the bridge keeps watching.';
  if (record.status === 'error') return 'The upstream has given it up and will not try it again.';
  if (isOpen(record)) return 'It has not ended.';
  return record.failures_count > 0 ? 'It has ended, after failed attempts.' : 'It has ended.';
}

function otherOperations({ record: { account_id, project_id }, others, at }: OperationView): Html {
  if (others.length === 0) return empty('No other operation is open.');
  return html`<ul class="plain">${others.map((other) => html`<li><a href="${operationPath(account_id, project_id, other.operation_id)}">${other.action}</a> ${badge(other.status)} <span class="quiet">${age(other.created_at, at)}</span></li>`)}</ul>`;
}
