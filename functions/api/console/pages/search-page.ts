/**
 * Finds projects by name, id or label, operations, branches, computes and commands by id, and events by their words: action, status, error and
 * the name of the project. The whole id leads on at once.
 */

import { html } from 'hono/html';
import { hasLabel, type ProjectLabel } from '../../../../shared/alerts/project-labels.ts';
import { maySee } from '../../../../shared/callers/scopes.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import type { ChangedRecord } from '../../read-model/account-activity.ts';
import { type FeedEvent, SEARCH_QUERIES_MAX } from '../../read-model/event-feed.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import { empty, type Html, projectPath, recordPath } from '../html/markup.ts';
import { eventTable, projectLink } from '../html/records.ts';
import { type PageTime, time, timeAndAge } from '../html/times.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';
import { projectsPath } from './projects-page.ts';

export interface SearchDeps extends RefusalDeps {
  readonly clock: Clock;
  /** The labels of the alert policy. */
  readonly labels: Readonly<Record<string, ProjectLabel>>;
}

/** Each query of the feed reads this number of records. */
const RECORDS_PER_QUERY = 50;

/** The list of all events shows more. */
const EVENTS_SHOWN_MAX = 20;

interface Found {
  readonly accountId: string;
  readonly text: string;
  readonly matches: Matches;
  readonly names: ReadonlyMap<string, string>;
  readonly events: readonly FeedEvent[];
  /** Words were not looked for in what changed before this time. */
  readonly eventsBackTo: string | undefined;
  /** Records that changed before this time were not looked at. */
  readonly backTo: string | undefined;
  readonly at: PageTime;
}

export function buildSearch(deps: SearchDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkReading(deps, visitor, visitor.caller.account_id)) return READING_REFUSED;
    const text = (c.req.query('q') ?? '').slice(0, 100).trim();
    const found = { text, ...(await search(visitor, text, deps.labels)), at: pageTimeOf(c, deps.clock) };
    const { accountId, matches } = found;
    return {
      title: text === '' ? 'Search' : `Search for ${text}`,
      content: searchPage(found),
      searched: text,
      ...(matches.exact && { redirect: pathOf(accountId, matches.exact) }),
    };
  };
}

async function search(
  { caller, model }: Visitor,
  text: string,
  labels: SearchDeps['labels'],
): Promise<Omit<Found, 'text' | 'at'>> {
  if (text.length < TEXT_CHARACTERS_MIN) {
    const matches = searchMatches(text, [], []);
    const nothing = { events: [], eventsBackTo: undefined, backTo: undefined };
    return { accountId: model.accountId, matches, names: new Map(), ...nothing };
  }
  const [{ ids }, names, { records, back_to: backTo }] = await readAll(model);
  const projects: readonly FoundProject[] = ids
    .filter((id) => maySee(caller, id))
    .map((id) => {
      const project = { account_id: model.accountId, project_id: id, project_name: names.get(id) };
      const own = Object.entries(labels).filter(([, label]) => hasLabel(label, project));
      return { project_id: id, name: project.project_name, labels: own.map(([name]) => name) };
    });
  const visible = records.filter(({ projectId }) => maySee(caller, projectId));
  const matches = searchMatches(text, projects, visible);
  // The text is the id of something, whose page opens at once, so no words are searched for.
  const isVisible = isVisibleTo(caller);
  const request = { limit: RECORDS_PER_QUERY, isVisible, text, names, queriesMax: SEARCH_QUERIES_MAX };
  const words = matches.exact === undefined ? await model.feed.recent(request) : undefined;
  const events = (words?.items ?? []).slice(0, EVENTS_SHOWN_MAX);
  return { accountId: model.accountId, matches, names, events, eventsBackTo: words?.back_to, backTo };
}

function readAll(model: ReadModel) {
  return Promise.all([model.projectIds(), model.projectNames(), model.changes()]);
}

function pathOf(accountId: string, found: ChangedRecord | FoundProject): string {
  return 'kind' in found ? recordPath(accountId, found) : projectPath(accountId, found.project_id);
}

function searchPage({ accountId, text, matches, names, events, eventsBackTo, backTo, at }: Found): Html {
  if (text.length < TEXT_CHARACTERS_MIN)
    return html`<h1>Search</h1>${empty(`Enter at least ${TEXT_CHARACTERS_MIN} characters of a name, an id, an action, a status or an error. Several words narrow the search.`)}`;
  const { projects, records } = matches;
  const isNothing = projects.length + records.length + events.length === 0;
  return html`<h1>Search for “${text}”</h1>
${isNothing ? empty('Nothing matches: no name, no id and no label of a project, no id of an operation, branch, compute or command, and no event with all of these words.') : ''}
${projects.length === 0 ? '' : html`<h2>Projects</h2><ul class="plain">${projects.map(({ project_id }) => html`<li>${projectLink(accountId, project_id, names)}</li>`)}</ul>${projects.length < MATCHES_PER_KIND_MAX ? '' : html`<p><a href="${projectsPath({ text })}">All projects that match</a></p>`}`}
${records.length === 0 ? '' : html`<h2>Operations, branches, computes and commands</h2>${recordTable({ accountId, records, names, at })}`}
${events.length === 0 ? '' : html`<h2>Events with these words</h2>${eventTable({ accountId, names }, events, at)}<p><a href="/console/events?text=${encodeURIComponent(text)}">All events with these words</a></p>`}
${eventsBackTo === undefined || events.length >= EVENTS_SHOWN_MAX ? '' : html`<p class="quiet">Words were looked for in the latest ${RECORDS_PER_QUERY * SEARCH_QUERIES_MAX} changed records, back to ${time(eventsBackTo, at)}.</p>`}
${backTo === undefined ? '' : html`<p class="quiet">Records that last changed before ${time(backTo, at)} were not searched. The page of a project lists all of its operations.</p>`}`;
}

function recordTable({
  accountId,
  records,
  names,
  at,
}: Pick<Found, 'accountId' | 'names' | 'at'> & { readonly records: readonly ChangedRecord[] }): Html {
  return html`<table class="stack"><thead><tr><th>What</th><th>Id</th><th>Project</th><th>Last change</th></tr></thead>
<tbody>${records.map(
    (record) => html`<tr><td>${record.kind}</td>
<td><a class="id" href="${recordPath(accountId, record)}">${record.id}</a></td>
<td>${projectLink(accountId, record.projectId, names)}</td>
<td>${timeAndAge(record.changed_at, at)}</td></tr>`,
  )}</tbody></table>`;
}

export interface FoundProject {
  readonly project_id: string;
  readonly name: string | undefined;
  readonly labels: readonly string[];
}

export interface Matches {
  readonly projects: readonly FoundProject[];
  /** The record that changed last comes first. */
  readonly records: readonly ChangedRecord[];
  /** The text is the whole id of this record, or the whole id or name of this only project. */
  readonly exact: ChangedRecord | FoundProject | undefined;
}

/** People look at no more than this many rows of a kind; a longer text finds fewer. */
export const MATCHES_PER_KIND_MAX = 20;

/** A shorter text would match a part of almost every id. */
const TEXT_CHARACTERS_MIN = 2;

export function searchMatches(
  text: string,
  projects: readonly FoundProject[],
  records: readonly ChangedRecord[],
): Matches {
  const wanted = text.trim().toLowerCase();
  if (wanted.length < TEXT_CHARACTERS_MIN) return { projects: [], records: [], exact: undefined };
  const has = (value: string | undefined) => value?.toLowerCase().includes(wanted) === true;
  const is = (value: string | undefined) => value?.toLowerCase() === wanted;
  const foundProjects = projects.filter(
    ({ project_id, name, labels }) => has(project_id) || has(name) || labels.some(is),
  );
  // A project stands in its own list.
  const foundRecords = records.filter(({ kind, id }) => kind !== 'project' && has(id));
  const exactProjects = foundProjects.filter(({ project_id, name }) => is(project_id) || is(name));
  const exactRecord = foundRecords.find(({ id }) => is(id));
  return {
    projects: foundProjects.slice(0, MATCHES_PER_KIND_MAX),
    records: firstOfEachKind(foundRecords),
    exact: exactRecord ?? (exactProjects.length === 1 ? exactProjects[0] : undefined),
  };
}

function firstOfEachKind(records: readonly ChangedRecord[]): readonly ChangedRecord[] {
  const byKind = Map.groupBy(records, ({ kind }) => kind);
  return [...byKind.values()].flatMap((each) => each.slice(0, MATCHES_PER_KIND_MAX));
}
