/** Lists the projects of an account as a table that can be searched, filtered and sorted without script. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import type { Part } from '../html/charts.ts';
import { empty, type Html, stateBadge } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { type PageTime, time, timeAndAge } from '../html/times.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import {
  type AccountStateDeps,
  chosenRows,
  PROJECT_CHOICES,
  PROJECT_ORDERS,
  PROJECT_STATES,
  type ProjectFilter,
  type ProjectOrder,
  type ProjectRow,
  type ProjectState,
  readAccountState,
} from './account-state.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';

/** A page of this many rows has about 40 kB. */
const PROJECTS_PER_PAGE = 50;

export interface ProjectsDeps extends AccountStateDeps, RefusalDeps {
  readonly clock: Clock;
}

interface ProjectList {
  readonly accountId: string;
  readonly filter: ProjectFilter;
  /** The rows of this page, those of all pages being `chosenCount`. */
  readonly rows: readonly ProjectRow[];
  readonly chosenCount: number;
  readonly page: number;
  /** These projects of the page are no longer visible to the upstream's key. */
  readonly gone: ReadonlySet<string>;
  readonly names: ReadonlyMap<string, string>;
  /** Changes before this time (ISO 8601) were not looked at. It is undefined when all were. */
  readonly backTo: string | undefined;
  readonly isWhole: boolean;
  readonly at: PageTime;
}

export function buildProjects(deps: ProjectsDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkReading(deps, visitor, visitor.caller.account_id)) return READING_REFUSED;
    const list = await readList(deps, c, visitor);
    return { title: 'Projects', about: '*', content: projectsPage(list) };
  };
}

async function readList(deps: ProjectsDeps, c: Context, visitor: Visitor): Promise<ProjectList> {
  const { model } = visitor;
  const filter = filterIn(c);
  const changes = await model.changes();
  const { projects, names, work, areProjectsWhole } = await readAccountState(deps, visitor, changes);
  const chosen = chosenRows(projects, filter);
  const pageCount = Math.max(1, Math.ceil(chosen.length / PROJECTS_PER_PAGE));
  const page = Math.min(pageCount, Math.max(1, Math.trunc(Number(c.req.query('page') ?? 1)) || 1));
  const rows = chosen.slice((page - 1) * PROJECTS_PER_PAGE, page * PROJECTS_PER_PAGE);
  return {
    accountId: model.accountId,
    filter,
    rows,
    chosenCount: chosen.length,
    page,
    gone: await goneProjects(model, rows),
    names,
    backTo: changes.back_to,
    isWhole: areProjectsWhole && work.isWhole,
    at: pageTimeOf(c, deps.clock),
  };
}

function filterIn(c: Context): ProjectFilter {
  const [state, order] = [c.req.query('state'), c.req.query('order')];
  return {
    text: (c.req.query('q') ?? '').slice(0, 100),
    state: PROJECT_CHOICES.find((each) => each === state),
    order: PROJECT_ORDERS.find((each) => each === order) ?? 'activity',
  };
}

async function goneProjects(model: ReadModel, rows: readonly ProjectRow[]): Promise<ReadonlySet<string>> {
  const records = await Promise.all(
    rows.map(({ project_id }) => unlessUnreadable(model.project(project_id))),
  );
  return new Set(records.flatMap((record) => (record?.is_visible === false ? [record.project_id] : [])));
}

function projectsPage(list: ProjectList): Html {
  const { filter, rows, chosenCount, gone, isWhole } = list;
  return html`<h1>Projects</h1>
${filterForm(filter)}
<p class="quiet" role="status">${counted(chosenCount, 'project')}${isWhole ? '' : '. The account has more projects or open operations than were looked at, so some states may be missing'}.</p>
${rows.length === 0 ? empty('No project matches. A shorter text, or another state, may.') : tableOf(list)}
${gone.size === 0 ? '' : html`<p class="quiet">A project that is gone stays in this list under the state that it had last.</p>`}
${pager(list)}`;
}

function filterForm({ text, state, order }: ProjectFilter): Html {
  return html`<form class="filter" action="/console/projects">
<div><label for="q">Name or id</label><input id="q" name="q" value="${text}" size="24" maxlength="100"></div>
<div><label for="state">State</label><select id="state" name="state"><option value="">any</option>${PROJECT_CHOICES.map((each) => html`<option value="${each}"${each === state ? html` selected` : ''}>${each}</option>`)}</select></div>
<div><label for="order">Sorted by</label><select id="order" name="order">${PROJECT_ORDERS.map((each) => html`<option value="${each}"${each === order ? html` selected` : ''}>${ORDER_NAMES[each]}</option>`)}</select></div>
<button>Show</button></form>`;
}

const ORDER_NAMES: Readonly<Record<ProjectOrder, string>> = {
  activity: 'last activity',
  failures: 'failures',
  name: 'name',
};

function tableOf({ accountId, filter, rows, gone, names, backTo, at }: ProjectList): Html {
  const heading = (order: ProjectOrder, title: string, direction: 'ascending' | 'descending') =>
    html`<th${order === filter.order ? html` aria-sort="${direction}"` : ''}><a href="${projectsPath({ ...filter, order })}">${title}</a></th>`;
  return html`<table class="stack"><thead><tr>${heading('name', 'Project', 'ascending')}<th>State</th>${heading('activity', 'Last activity', 'descending')}${heading('failures', 'Failures in 24 hours', 'descending')}</tr></thead>
<tbody>${rows.map(
    ({
      project_id,
      state,
      isRunning,
      changed_at,
      failed_count,
    }) => html`<tr><td>${projectLink(accountId, project_id, names)}</td>
<td>${gone.has(project_id) ? html`<span class="badge calm">gone</span>` : projectBadge(state)}${isRunning ? html` <span class="badge busy"><span aria-hidden="true">◐</span> running</span>` : ''}</td>
<td data-label="Last activity">${changed_at !== undefined ? timeAndAge(changed_at, at) : backTo === undefined ? html`<span class="quiet">none was seen</span>` : html`<span class="quiet">before ${time(backTo, at)}</span>`}</td>
<td data-label="Failures in 24 hours">${failed_count === 0 ? html`<span class="quiet">0</span>` : html`<span class="bad">${failed_count}</span>`}</td></tr>`,
  )}</tbody></table>`;
}

function pager({ filter, page, chosenCount }: ProjectList): Html | '' {
  const pageCount = Math.ceil(chosenCount / PROJECTS_PER_PAGE);
  if (pageCount <= 1) return '';
  return html`<nav class="row" aria-label="Pages of the list">${page > 1 ? html`<a class="button" href="${projectsPath({ ...filter, page: page - 1 })}">Back</a>` : ''}<span class="quiet">Page ${page} of ${pageCount}</span>${page < pageCount ? html`<a class="button" href="${projectsPath({ ...filter, page: page + 1 })}">Next</a>` : ''}</nav>`;
}

export interface ProjectListAddress extends Partial<ProjectFilter> {
  /** Pages are counted from 1. */
  readonly page?: number;
}

export function projectsPath({ text, state, order, page }: ProjectListAddress): string {
  const query = new URLSearchParams();
  if (text) query.set('q', text);
  if (state !== undefined) query.set('state', state);
  if (order !== undefined && order !== 'activity') query.set('order', order);
  if (page !== undefined && page > 1) query.set('page', String(page));
  return query.size === 0 ? '/console/projects' : `/console/projects?${query.toString()}`;
}

const TONES: Readonly<Record<ProjectState, Part['tone']>> = {
  'needs a person': 'bad',
  'cannot be read': 'odd',
  'not read yet': 'unread',
  acknowledged: 'accent',
  failing: 'busy',
  healthy: 'well',
};

export const PROJECT_PARTS = PROJECT_STATES.map((state) => ({ state, tone: TONES[state] }));

const MARKS: Readonly<Record<ProjectState, string>> = {
  'needs a person': '▲',
  'cannot be read': '✕',
  'not read yet': '?',
  acknowledged: '◆',
  failing: '▲',
  healthy: '●',
};

/** Shows the state as a coloured word with a mark, for people who cannot distinguish the colours. */
function projectBadge(state: ProjectState): Html {
  return stateBadge(TONES[state], MARKS[state], state);
}
