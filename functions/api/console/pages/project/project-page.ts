/** Shows one project: its operations, its computes, and what the visitor can do with them. */

import { html } from 'hono/html';
import type { Clock } from '../../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../../shared/store/unreadable.ts';
import { empty, type Html, pageHead } from '../../html/markup.ts';
import { branchPath, computePath, endpointActionPath, projectPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { age, type PageTime } from '../../html/time/times.ts';
import { formKey } from '../../session/session.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { type BuildPage, NOTHING_HERE, pageTimeOf } from '../page.ts';
import { checkReading } from '../permission.ts';
import { type Compute, type RouteDeps, readComputes } from '../upstream-view.ts';
import { ACTION_NAMES, actionsFor, type EndpointAction, suitsState } from './endpoint-actions.ts';
import { operationList, type ProjectOperations, readOperations } from './project-operations.ts';
import { type EndedDays, readEndedDays, usualTable } from './usual-times.ts';

export interface ProjectDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

export function buildProject(deps: ProjectDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id: projectId = '' } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const { caller, model, session, pepper } = visitor;
    const [operations, computes, endedDays, name, project] = await Promise.all([
      readOperations(model, projectId, c),
      readComputes(deps, caller, projectId),
      readEndedDays(visitor, projectId),
      model.projectName(projectId),
      unlessUnreadable(model.project(projectId)),
    ]);
    const isKnown = project !== undefined || operations.items.length > 0 || computes !== undefined;
    if (!isKnown) return NOTHING_HERE;
    const known = await Promise.all(
      (computes ?? []).map(({ id }) => unlessUnreadable(model.compute(projectId, id))),
    );
    const content = projectPage({
      accountId,
      projectId,
      name,
      isGone: project?.is_visible === false,
      operations,
      computes,
      sinceOf: new Map(known.flatMap((each) => (each ? [[each.endpoint_id, each.state_since]] : []))),
      actions: actionsFor(deps, caller),
      formKey: formKey(session, pepper),
      isReadRequested: c.req.query('asked') !== undefined,
      endedDays,
      at: pageTimeOf(c, deps.clock),
    });
    return { title: name ?? projectId, section: '/console/projects', about: projectId, content };
  };
}

interface ProjectView {
  readonly accountId: string;
  readonly projectId: string;
  /** No page of the list has shown a name when this is undefined. */
  readonly name: string | undefined;
  /** The upstream's key cannot see the project any more. */
  readonly isGone: boolean;
  readonly operations: ProjectOperations;
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
  const { accountId, projectId, name, isGone, at } = view;
  return html`<p class="crumbs"><a href="/console">Overview</a> › <a href="/console/projects">Projects</a></p>
${pageHead(name ?? projectId, readForm(view))}
${name === undefined || name === projectId ? '' : html`<p class="id quiet">${projectId}</p>`}
${isGone ? html`<p class="notice bad">The upstream does not show this project any more: it was deleted, or the key may not see it, or it could not be read for ten minutes.</p>` : ''}
${view.isReadRequested ? html`<p class="notice" role="status">The poller was asked. New operations appear on this page.</p>` : ''}
<h2>Computes</h2>
${computeTable(view)}
<h2>Operations</h2>
${operationList(accountId, view.operations, at)}
${usualTable(view.endedDays)}`;
}

function readForm({ accountId, projectId, formKey: key }: ProjectView): Html {
  return html`<form method="post" action="${projectPath(accountId, projectId)}/read"><input type="hidden" name="form_key" value="${key}"><button>Read this project now</button></form>`;
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
    }) => html`<tr><td><a class="id" href="${computePath(accountId, projectId, id)}">${id}</a></td><td>${type}</td><td>${badge(state)} ${since(sinceOf.get(id), at)}</td><td><a class="id" href="${branchPath(accountId, projectId, branchId)}">${branchId}</a></td>
<td>${actions.filter((action) => suitsState(action, state)).map((action) => html`<a class="button" href="${path(id, action)}">${ACTION_NAMES[action]}</a>`)}</td></tr>`,
  )}</tbody></table>`;
}

/** A state that is not known to the bridge, or was changed unseen, has no time. */
function since(stateSince: string | undefined, at: PageTime): Html | '' {
  return stateSince === undefined ? '' : html`<span class="quiet">${age(stateSince, at)}</span>`;
}
