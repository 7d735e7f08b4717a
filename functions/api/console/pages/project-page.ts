/** Shows one project: its operations, its computes, and what the visitor can do with them. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { isOpen, type OperationRecord } from '../../../../shared/records/operation-record.ts';
import { wasRead } from '../../../../shared/records/project-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { UsageDeps } from '../../bridge/usage-routes.ts';
import type { Page } from '../../read-model/list-page.ts';
import type { OperationReader } from '../../read-model/read-model.ts';
import { timeline } from '../html/charts.ts';
import {
  branchPath,
  computePath,
  empty,
  endpointActionPath,
  type Html,
  operationPath,
  pageHead,
  projectPath,
} from '../html/markup.ts';
import { badge } from '../html/records.ts';
import {
  age,
  type PageTime,
  timeAndAge,
  timeRangeFields,
  timeRangeOf,
  upstreamDuration,
} from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import { isRunning } from './account-state.ts';
import { ACTION_NAMES, actionsFor, type EndpointAction, suitsState } from './compute-page.ts';
import { type EndedDays, readEndedDays, usualTable } from './operation-view.ts';
import {
  type BuildPage,
  checkReading,
  forVisitors,
  NOT_DONE,
  NOTHING_HERE,
  pageTimeOf,
  showPage,
} from './page.ts';
import {
  type ProjectTroubles,
  readProjectTroubles,
  type TroublePage,
  troubleSections,
  troubleVerdict,
} from './troubles.ts';
import { usageSection } from './usage-section.ts';
import { type Compute, genuineForm, type RouteDeps, readComputes, showOutcome } from './visitor-calls.ts';

export interface ProjectDeps extends RefusalDeps, RouteDeps, UsageDeps {
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
    const at = pageTimeOf(c, deps.clock);
    const seen = operations.items;
    const found = await readProjectTroubles(visitor, projectId, { nowMs: at.nowMs, seen });
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
      hasMoved: project?.moved_to !== undefined,
      operations,
      computes,
      sinceOf: new Map(known.flatMap((each) => (each ? [[each.endpoint_id, each.state_since]] : []))),
      actions: actionsFor(deps, caller),
      formKey: formKey(session, pepper),
      isReadRequested: c.req.query('asked') !== undefined,
      isRead: project !== undefined && wasRead(project),
      usage: usageSection(project?.usage, deps.unitHourPriceOf(accountId), at),
      endedDays,
      found,
      isOfProject: true,
      names: new Map(),
      caller,
      path: projectPath(accountId, projectId),
      at,
    });
    return { title: name ?? projectId, section: '/console/projects', about: projectId, content };
  };
}

interface ProjectView extends TroublePage {
  readonly projectId: string;
  /** No page of the list has shown a name when this is undefined. */
  readonly name: string | undefined;
  /** The upstream's key cannot see the project any more. */
  readonly isGone: boolean;
  /** Another account of the bridge has the project since. Which one it is, is not for the callers of this account. */
  readonly hasMoved: boolean;
  readonly operations: ProjectOperations;
  /** The list is undefined when the caller may not see it, or the upstream did not answer. */
  readonly computes: readonly Compute[] | undefined;
  /** The state of a compute began at this time, by its id, as far as the bridge has seen it. */
  readonly sinceOf: ReadonlyMap<string, string | undefined>;
  /** The caller's scopes and the configuration allow these actions. */
  readonly actions: readonly EndpointAction[];
  readonly isReadRequested: boolean;
  /** All operations of the project were read once. */
  readonly isRead: boolean;
  readonly usage: Html | '';
  readonly endedDays: EndedDays;
  readonly found: ProjectTroubles;
}

function goneNotice({ hasMoved }: ProjectView): Html {
  return hasMoved
    ? html`<p class="notice">This project has moved to another account of this bridge, where its operations go on.</p>`
    : html`<p class="notice bad">The upstream does not show this project any more: it was deleted, or the key may not see it, or it could not be read for ten minutes.</p>`;
}

function projectPage(view: ProjectView): Html {
  const { accountId, projectId, name, isGone, found, at } = view;
  const running = found.open.filter(isRunning);
  return html`<p class="crumbs"><a href="/console">Overview</a> › <a href="/console/projects">Projects</a></p>
${pageHead(name ?? projectId, readForm(view))}
${name === undefined || name === projectId ? '' : html`<p class="id quiet">${projectId}</p>`}
${isGone ? goneNotice(view) : ''}
${view.isReadRequested ? html`<p class="notice" role="status">The poller was asked. New operations appear on this page.</p>` : ''}
${isGone && found.troubles.length === 0 ? '' : troubleVerdict(found, view.isRead)}
${troubleSections(view, found)}
${running.length === 0 ? '' : html`<h2>What runs now</h2>${tableOf(accountId, running.toReversed().slice(0, OPERATIONS_PER_PAGE), at)}`}
<h2>Computes</h2>
${computeTable(view)}
${view.usage}
<h2>All operations</h2>
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
<td>${actions.filter((action) => suitsState(action, state)).map((action) => html`<a class="button" href="${path(id, action)}">${ACTION_NAMES[action]}</a> `)}</td></tr>`,
  )}</tbody></table>`;
}

/** A state that is not known to the bridge, or was changed unseen, has no time. */
function since(stateSince: string | undefined, at: PageTime): Html | '' {
  return stateSince === undefined ? '' : html`<span class="quiet">${age(stateSince, at)}</span>`;
}

/** One page of operations stays short enough to read, and the link below it leads to older ones. */
const OPERATIONS_PER_PAGE = 25;

/** A filter looks through at most this many pages at once, so that one that matches nothing needs 100 reads. */
const PAGES_AT_ONCE = 4;

interface ProjectOperations extends Page<OperationRecord> {
  readonly filter: OperationFilter;
}

async function readOperations(
  model: OperationReader,
  projectId: string,
  c: Context,
): Promise<ProjectOperations> {
  const text = c.req.query('text')?.slice(0, 100).trim() || undefined;
  const filter = { text, ...timeRangeOf(c) };
  const items: OperationRecord[] = [];
  let next = c.req.query('cursor') || undefined;
  for (let page = 0; page < PAGES_AT_ONCE && items.length < OPERATIONS_PER_PAGE; page++) {
    const read = await model.operations(projectId, { limit: OPERATIONS_PER_PAGE, cursor: next });
    items.push(...read.items.filter((record) => isChosenOperation(record, filter)));
    next = read.next;
    if (next === undefined) break;
  }
  return { items, next, filter };
}

function operationList(accountId: string, { items, next, filter }: ProjectOperations, at: PageTime): Html {
  const { text, from, until } = filter;
  const isFiltered = text !== undefined || from !== undefined || until !== undefined;
  const older = new URLSearchParams(
    Object.entries({ text, from, until, cursor: next }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    ),
  );
  return html`<form class="filter"><div><label for="text">Action, status, id or error</label><input id="text" name="text" value="${text ?? ''}" size="22" maxlength="100"></div>${timeRangeFields({ from, until }, at.zone)}<button>Show</button></form>
${items.length > 0 ? html`${timeline(accountId, items, at)}${tableOf(accountId, items, at)}` : empty(isFiltered ? 'No operation that was looked at matches.' : 'No operation of this project has been seen.')}
${next === undefined ? '' : html`<p><a class="button" href="?${older}">Older</a></p>`}`;
}

function tableOf(accountId: string, records: readonly OperationRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th><th>Took</th></tr></thead>
<tbody>${records.map(
    (record) => html`<tr>
<td><a href="${operationPath(accountId, record.project_id, record.operation_id)}">${record.action}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${timeAndAge(record.created_at, at)}</td>
<td data-label="Took">${isOpen(record) ? html`<span class="quiet">open</span>` : upstreamDuration(Date.parse(record.updated_at) - Date.parse(record.created_at))}</td></tr>`,
  )}</tbody></table>`;
}

interface OperationFilter {
  /** A part of the action, the status, an id or the latest error, in any case. */
  readonly text: string | undefined;
  /** Only operations that were created then (ISO 8601) or later. */
  readonly from: string | undefined;
  /** Only operations that were created before (ISO 8601). */
  readonly until: string | undefined;
}

function isChosenOperation(record: OperationRecord, { text, from, until }: OperationFilter): boolean {
  const createdMs = Date.parse(record.created_at);
  if (from !== undefined && createdMs < Date.parse(from)) return false;
  if (until !== undefined && createdMs >= Date.parse(until)) return false;
  if (text === undefined) return true;
  const { action, status, operation_id, branch_id = '', endpoint_id = '', entries } = record;
  const errors = entries.map((entry) => (entry.type === 'state_changed' ? (entry.error ?? '') : ''));
  const wanted = text.toLowerCase();
  return [action, status, operation_id, branch_id, endpoint_id, ...errors].some((value) =>
    value.toLowerCase().includes(wanted),
  );
}

export type ReadWishDeps = VisitorDeps & RefusalDeps & RouteDeps;

export function addReadWish(app: Hono, deps: ReadWishDeps): void {
  app.post('/accounts/:account_id/projects/:project_id/read', forVisitors(deps, sendWish));
}

async function sendWish(deps: ReadWishDeps, c: Context, visitor: Visitor): Promise<Response> {
  const { account_id: accountId = '', project_id: projectId = '' } = c.req.param();
  const form = await genuineForm(deps, c, visitor, 'consoleRead');
  const route = deps.routes.find(({ id }) => id === 'requestRead');
  if (form === undefined || route === undefined || !checkReading(deps, visitor, accountId, projectId))
    return showPage(c, visitor, NOT_DONE);
  const answer = await deps.call(route, { caller: visitor.caller, ids: { project_id: projectId } });
  const backTo = `${projectPath(accountId, projectId)}?asked`;
  return showOutcome(c, visitor, answer, { what: 'The wish', backTo });
}
