/** Finds projects by name or id, and operations, branches, computes and commands by id. The whole id leads on at once. */

import { html } from 'hono/html';
import { maySee } from '../../../../../shared/callers/authorize.ts';
import type { Clock } from '../../../../../shared/runtime/clock.ts';
import type { ChangedRecord } from '../../../read-model/account-activity.ts';
import type { ReadModel } from '../../../read-model/read-model.ts';
import {
  type FoundProject,
  MATCHES_PER_KIND_MAX,
  type Matches,
  searchMatches,
  TEXT_CHARACTERS_MIN,
} from '../../deciding/search-matches.ts';
import { empty, type Html } from '../../html/markup.ts';
import { projectPath, recordPath } from '../../html/paths.ts';
import { projectLink } from '../../html/record/project-link.ts';
import { type PageTime, time, timeAndAge } from '../../html/time/times.ts';
import type { Visitor } from '../../session/visitor.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from '../page.ts';
import { checkReading } from '../permission.ts';
import { projectsPath } from './project-list-links.ts';

export interface SearchDeps extends RefusalDeps {
  readonly clock: Clock;
}

interface Found {
  readonly accountId: string;
  readonly text: string;
  readonly matches: Matches;
  readonly names: ReadonlyMap<string, string>;
  /** Records that changed before this time were not looked at. */
  readonly backTo: string | undefined;
  readonly at: PageTime;
}

export function buildSearch(deps: SearchDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkReading(deps, visitor, visitor.caller.account_id)) return READING_REFUSED;
    const text = (c.req.query('q') ?? '').slice(0, 100).trim();
    const found = { text, ...(await search(visitor, text)), at: pageTimeOf(c, deps.clock) };
    const { accountId, matches } = found;
    return {
      title: text === '' ? 'Search' : `Search for ${text}`,
      content: searchPage(found),
      searched: text,
      ...(matches.exact && { redirect: pathOf(accountId, matches.exact) }),
    };
  };
}

async function search({ caller, model }: Visitor, text: string): Promise<Omit<Found, 'text' | 'at'>> {
  if (text.length < TEXT_CHARACTERS_MIN) {
    const matches = searchMatches(text, [], []);
    return { accountId: model.accountId, matches, names: new Map(), backTo: undefined };
  }
  const [{ ids }, names, { records, back_to: backTo }] = await readAll(model);
  const projects: readonly FoundProject[] = ids
    .filter((id) => maySee(caller, id))
    .map((id) => ({ project_id: id, name: names.get(id) }));
  const visible = records.filter(({ projectId }) => maySee(caller, projectId));
  return { accountId: model.accountId, matches: searchMatches(text, projects, visible), names, backTo };
}

function readAll(model: Pick<ReadModel, 'projectIds' | 'projectNames' | 'changes'>) {
  return Promise.all([model.projectIds(), model.projectNames(), model.changes()]);
}

function pathOf(accountId: string, found: ChangedRecord | FoundProject): string {
  return 'kind' in found ? recordPath(accountId, found) : projectPath(accountId, found.project_id);
}

function searchPage({ accountId, text, matches, names, backTo, at }: Found): Html {
  if (text.length < TEXT_CHARACTERS_MIN)
    return html`<h1>Search</h1>${empty(`Enter at least ${TEXT_CHARACTERS_MIN} characters of a project's name, or of the id of a project, an operation, a branch, a compute or a command.`)}`;
  const { projects, records } = matches;
  const isNothing = projects.length + records.length === 0;
  return html`<h1>Search for “${text}”</h1>
${isNothing ? empty('Nothing matches.') : ''}
${projects.length === 0 ? '' : html`<h2>Projects</h2><ul class="plain">${projects.map(({ project_id }) => html`<li>${projectLink(accountId, project_id, names)}</li>`)}</ul>${projects.length < MATCHES_PER_KIND_MAX ? '' : html`<p><a href="${projectsPath({ text })}">All projects that match</a></p>`}`}
${records.length === 0 ? '' : html`<h2>Operations, branches, computes and commands</h2>${recordTable({ accountId, records, names, at })}`}
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
