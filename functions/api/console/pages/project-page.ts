/** Shows one project: its operations, its computes, and what the visitor can do with them. */

import { html } from 'hono/html';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { badge } from '../html/badge.ts';
import { timeline } from '../html/charts.ts';
import { duration } from '../html/durations.ts';
import { empty, type Html } from '../html/markup.ts';
import { branchPath, endpointActionPath, operationPath, projectPath } from '../html/paths.ts';
import { age, type PageTime, time } from '../html/times.ts';
import { formKey } from '../session/session.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import { ENDPOINT_ACTIONS, type EndpointAction, routeOfAction } from './endpoint-actions.ts';
import { type BuildPage, NOTHING_HERE, pageTimeOf } from './page.ts';
import { checkReading } from './permission.ts';
import { type Compute, type RouteDeps, readComputes } from './upstream-view.ts';
import { type EndedDays, readEndedDays, usualTable } from './usual-times.ts';

/** One page of operations stays short enough to read, and the link below it leads to older ones. */
const OPERATIONS_PER_PAGE = 50;

export interface ProjectDeps extends RefusalDeps, RouteDeps {
  readonly clock: Pick<Clock, 'now'>;
}

export function buildProject(deps: ProjectDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id: projectId = '' } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const { caller, model, session, pepper } = visitor;
    const [operations, computes, endedDays] = await Promise.all([
      model.operations(projectId, { limit: OPERATIONS_PER_PAGE, cursor: c.req.query('cursor') || undefined }),
      readComputes(deps, caller, projectId),
      readEndedDays(visitor, projectId),
    ]);
    const isEmpty = operations.items.length === 0 && computes === undefined;
    if (isEmpty && (await model.project(projectId)) === undefined) return NOTHING_HERE;
    const known = await Promise.all(
      (computes ?? []).map(({ id }) => unlessUnreadable(model.compute(projectId, id))),
    );
    const content = projectPage({
      accountId,
      projectId,
      operations: operations.items,
      more: operations.next,
      computes,
      sinceOf: new Map(known.flatMap((each) => (each ? [[each.endpoint_id, each.state_since]] : []))),
      actions: caller.scopes.has('computes:restart') ? openActions(deps) : [],
      formKey: formKey(session, pepper),
      isReadRequested: c.req.query('asked') !== undefined,
      endedDays,
      at: pageTimeOf(c, deps.clock),
    });
    return { title: projectId, about: projectId, content };
  };
}

/** Returns the actions whose calls the configuration opens. */
function openActions({ routes }: RouteDeps): readonly EndpointAction[] {
  return ENDPOINT_ACTIONS.filter((action) => routeOfAction(routes, action) !== undefined);
}

interface ProjectView {
  readonly accountId: string;
  readonly projectId: string;
  readonly operations: readonly OperationRecord[];
  readonly more: string | undefined;
  /** The list is undefined when the caller may not see it, or the upstream did not answer. */
  readonly computes: readonly Compute[] | undefined;
  /** The state of a compute began at this time, by its id, as far as the bridge has seen it. */
  readonly sinceOf: ReadonlyMap<string, string | undefined>;
  /** The caller's scopes and the configuration allow these actions. */
  readonly actions: readonly EndpointAction[];
  readonly formKey: string;
  readonly isReadRequested: boolean;
  readonly endedDays: EndedDays;
  readonly at: PageTime;
}

function projectPage(view: ProjectView): Html {
  const { accountId, projectId, operations, at } = view;
  return html`<p class="crumbs"><a href="/console">Account ${accountId}</a></p>
<h1>${projectId}</h1>
<form method="post" action="${projectPath(accountId, projectId)}/read"><input type="hidden" name="form_key" value="${view.formKey}"><button>Read this project now</button>${view.isReadRequested ? html` <span role="status">The poller was asked. New operations appear on this page.</span>` : ''}</form>
<h2>Computes</h2>
${computeTable(view)}
${usualTable(view.endedDays)}
<h2>Operations</h2>
${timeline(accountId, operations, at)}
${
  operations.length === 0
    ? ''
    : html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th><th>Took</th></tr></thead>
<tbody>${operations.map(
        (record) => html`<tr>
<td><a href="${operationPath(accountId, projectId, record.operation_id)}">${record.action}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${time(record.created_at, at)} <span class="quiet">${age(record.created_at, at)}</span></td>
<td>${duration(Math.max(0, Date.parse(record.updated_at) - Date.parse(record.created_at)))}</td></tr>`,
      )}</tbody></table>`
}
${view.more === undefined ? '' : html`<p><a class="button" href="?cursor=${view.more}">Older</a></p>`}`;
}

function computeTable(view: ProjectView): Html {
  const { accountId, projectId, computes: list, actions, sinceOf, at } = view;
  if (list === undefined)
    return empty(
      'The computes cannot be shown: the token lacks the scope computes:read, or the upstream does not answer.',
    );
  if (list.length === 0) return empty('This project has no compute.');
  const path = (endpointId: string, action: EndpointAction) =>
    endpointActionPath(accountId, projectId, { endpointId, action });
  return html`<table class="stack"><thead><tr><th>Compute</th><th>Kind</th><th>State</th><th>Branch</th><th>Action</th></tr></thead>
<tbody>${list.map(
    ({
      id,
      type,
      state,
      branchId,
    }) => html`<tr><td class="id">${id}</td><td>${type}</td><td>${badge(state)} ${since(sinceOf.get(id), at)}</td><td><a class="id" href="${branchPath(accountId, projectId, branchId)}">${branchId}</a></td>
<td>${actions.filter((action) => (action === 'start') === (state === 'idle')).map((action) => html`<a class="button" href="${path(id, action)}">${action === 'start' ? 'Start' : 'Restart'}</a>`)}</td></tr>`,
  )}</tbody></table>`;
}

/** A state that is not known to the bridge, or was changed unseen, has no time. */
function since(stateSince: string | undefined, at: PageTime): Html | '' {
  return stateSince === undefined ? '' : html`<span class="quiet">${age(stateSince, at)}</span>`;
}
