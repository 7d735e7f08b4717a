/** One project: what runs, what ran, its computes and what can be done with them. */

import { html } from 'hono/html';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { timeline } from './charts.ts';
import { age, badge, duration, empty, type Html, operationPath, projectPath, time } from './parts.ts';

export interface Compute {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly branchId: string;
}

export interface ProjectView {
  readonly accountId: string;
  readonly projectId: string;
  readonly operations: readonly OperationRecord[];
  readonly more: string | undefined;
  /** Undefined: the caller may not see them, or the upstream did not answer. */
  readonly computes: readonly Compute[] | undefined;
  /** The actions that the caller's scopes allow. */
  readonly actions: readonly ('start' | 'restart')[];
  readonly formKey: string;
  readonly isReadRequested: boolean;
  readonly nowMs: number;
}

export function projectPage(view: ProjectView): Html {
  const { accountId, projectId, operations, nowMs } = view;
  return html`<p class="crumbs"><a href="/console">Account ${accountId}</a></p>
<h1>${projectId}</h1>
<form method="post" action="${projectPath(accountId, projectId)}/read"><input type="hidden" name="form_key" value="${view.formKey}"><button>Read it afresh now</button>${view.isReadRequested ? html` <span role="status">Asked for; what is new shows here.</span>` : ''}</form>
<h2>Computes</h2>
${computes(view)}
<h2>Operations</h2>
${timeline(accountId, operations, nowMs)}
${
  operations.length === 0
    ? ''
    : html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th><th>Took</th></tr></thead>
<tbody>${operations.map(
        (record) => html`<tr>
<td><a href="${operationPath(accountId, projectId, record.operation_id)}">${record.action}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${time(record.created_at)} <span class="quiet">${age(record.created_at, nowMs)}</span></td>
<td>${duration(Math.max(0, Date.parse(record.updated_at) - Date.parse(record.created_at)))}</td></tr>`,
      )}</tbody></table>`
}
${view.more === undefined ? '' : html`<p><a class="button" href="?cursor=${view.more}">Older</a></p>`}`;
}

function computes({ accountId, projectId, computes: list, actions }: ProjectView): Html {
  if (list === undefined)
    return empty(
      'They cannot be shown: the token has no scope computes:read, or the upstream does not answer.',
    );
  if (list.length === 0) return empty('This project has no compute.');
  const path = (id: string, action: string) =>
    `/console/accounts/${encodeURIComponent(accountId)}/projects/${encodeURIComponent(projectId)}/endpoints/${encodeURIComponent(id)}/${action}`;
  return html`<table class="stack"><thead><tr><th>Compute</th><th>Kind</th><th>State</th><th>Branch</th><th>Do</th></tr></thead>
<tbody>${list.map(
    ({
      id,
      type,
      state,
      branchId,
    }) => html`<tr><td class="id">${id}</td><td>${type}</td><td>${badge(state)}</td><td class="id">${branchId}</td>
<td>${actions.filter((action) => (action === 'start') === (state === 'idle')).map((action) => html`<a class="button" href="${path(id, action)}">${action === 'start' ? 'Start' : 'Restart'}</a>`)}</td></tr>`,
  )}</tbody></table>`;
}

/** Asked before anything is done. */
export function confirmPage(parts: {
  readonly action: 'start' | 'restart';
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly formKey: string;
  readonly commandKey: string;
}): Html {
  const { action, accountId, projectId, endpointId, formKey, commandKey } = parts;
  const what = action === 'start' ? 'Start' : 'Restart';
  return html`<div class="sign"><h1>${what} ${endpointId}?</h1>
<p>In project <code>${projectId}</code>. ${action === 'restart' ? 'All connections to it are dropped.' : 'It begins to cost.'}</p>
<form method="post"><input type="hidden" name="form_key" value="${formKey}"><input type="hidden" name="command_key" value="${commandKey}">
<button class="do">${what} it</button> <a class="button" href="/console/accounts/${encodeURIComponent(accountId)}/projects/${encodeURIComponent(projectId)}">Back</a></form></div>`;
}
