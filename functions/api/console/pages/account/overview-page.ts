/** Shows an account at a glance: what needs a person, what runs, and whether events are on time. */

import { html } from 'hono/html';
import type { OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import { hourStartMs } from '../../../../../shared/insights/utc-hour.ts';
import type { HealthDeps } from '../../../bridge/health-routes.ts';
import { countByState } from '../../deciding/project-rows.ts';
import { needsPerson } from '../../deciding/troubles.ts';
import { barChart } from '../../html/chart/bar-chart.ts';
import { shareBar } from '../../html/chart/share-bar.ts';
import { empty, type Html } from '../../html/markup.ts';
import { accountPath, freezePath, operationPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { projectLink } from '../../html/record/project-link.ts';
import { duration } from '../../html/time/durations.ts';
import { hourAndMinute, type PageTime, timeAndAge } from '../../html/time/times.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { type FreezeView, freezeNotice, maySwitchFreeze, readFreeze } from '../administration/freeze-page.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from '../page.ts';
import { checkReading } from '../permission.ts';
import type { RouteDeps } from '../upstream-view.ts';
import { type AccountState, isRunning, readAccountState } from './account-state.ts';
import { PROJECT_PARTS, projectsPath } from './project-list-links.ts';
import { type ShownTrouble, troubleTable } from './trouble-table.ts';

/** The overview fits on two screens. The list of projects has everything. */
const GROUPS_SHOWN = 15;
const OPEN_SHOWN = 10;

export type OverviewDeps = HealthDeps & RefusalDeps & RouteDeps;

interface Overview extends AccountState {
  readonly accountId: string;
  readonly freeze: FreezeView | undefined;
  readonly grave: readonly ShownTrouble[];
  readonly healing: readonly ShownTrouble[];
  /** It is false when the visitor sees some projects only, and so no sums of the account. */
  readonly seesAll: boolean;
  readonly maySwitchFreeze: boolean;
  readonly at: PageTime;
}

export function buildOverview(deps: OverviewDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const [state, freeze] = await Promise.all([readAccountState(deps, visitor), readFreeze(deps, caller)]);
    const [grave, healing] = await Promise.all([
      model.withHeldBack(partOf(state, needsPerson).slice(0, GROUPS_SHOWN)),
      model.withHeldBack(partOf(state, (trouble) => !needsPerson(trouble)).slice(0, GROUPS_SHOWN)),
    ]);
    const seesAll = caller.projectIds === undefined;
    const at = pageTimeOf(c, deps.clock);
    const content = overviewPage({
      ...state,
      accountId: model.accountId,
      freeze,
      grave,
      healing,
      seesAll,
      maySwitchFreeze: maySwitchFreeze(caller),
      at,
    });
    return { title: 'Overview', about: '*', content };
  };
}

function partOf({ troubles }: Pick<AccountState, 'troubles'>, isIn: typeof needsPerson) {
  return troubles.filter(({ trouble }) => isIn(trouble));
}

function overviewPage(overview: Overview): Html {
  const { accountId, health, freeze, grave, healing, at } = overview;
  const graveCount = partOf(overview, needsPerson).length;
  const healingCount = overview.troubles.length - graveCount;
  return html`<h1>Account ${accountId}</h1>
${verdict(overview)}
${health.reasons.map((reason) => html`<p class="notice bad">${reason}</p>`)}
${freezeNotice(accountId, freeze)}
${cards(overview, graveCount)}
<h2>What needs a person</h2>
${grave.length === 0 ? empty('Nothing does. What has failed is being retried, or has recovered.') : troubleTable(overview, grave, at)}
${graveCount > GROUPS_SHOWN ? html`<p><a href="${projectsPath({ state: 'needs a person' })}">${graveCount - GROUPS_SHOWN} more</a></p>` : ''}
${healing.length === 0 ? '' : html`<details id="healing"><summary>${healingCount === 1 ? 'One failure' : `${healingCount} failures`} that the upstream is retrying</summary>${troubleTable(overview, healing, at)}</details>`}
<h2>The last day</h2>
${charts(overview)}
<h2>Projects</h2>
${projectsAtAGlance(overview)}
<h2>What runs now</h2>
${running(overview)}
${overview.maySwitchFreeze ? html`<p class="row"><a class="button" href="${freezePath(accountId)}">Hold all commands, or let them go on</a></p>` : ''}`;
}

/** Before every project was read once, nothing can be on time or late. */
function verdict({ accountId, health, status }: Overview): Html {
  const isFirst = health.healthy && status?.last_complete_walk_at === undefined;
  const sentence = isFirst
    ? html`<span class="busy"><span aria-hidden="true">◐</span> Every project is being read for the first time</span>`
    : health.healthy
      ? html`<span class="good"><span aria-hidden="true">●</span> Events are on time</span>`
      : html`<span class="bad"><span aria-hidden="true">▲</span> Events may be late</span>`;
  return html`<p class="verdict">${sentence} <a href="${accountPath(accountId)}">How the account is read</a></p>`;
}

function cards({ status, work, hours, seesAll }: Overview, graveCount: number): Html {
  const failedCount = hours.reduce((sum, { counts }) => sum + counts.failed_count, 0);
  const openCount = seesAll
    ? Math.max(status?.open_operation_count ?? 0, work.open.length)
    : work.open.length;
  const delayMs = status?.points.findLast(({ delay_p50_ms }) => delay_p50_ms !== undefined)?.delay_p50_ms;
  return html`<div class="cards">
<div class="card${graveCount > 0 ? ' bad' : ''}">Need a person<b>${graveCount}</b>${graveCount === 1 ? 'action of a project' : 'actions of projects'}</div>
<div class="card">Open operations<b>${openCount}</b>${work.isWhole ? `${work.open.filter(isRunning).length} run, the others wait for a retry` : 'run, or wait for a retry'}</div>
<div class="card">Failed attempts<b>${failedCount}</b>in 24 hours</div>
<div class="card">A change is seen after<b>${delayMs === undefined ? '–' : duration(delayMs)}</b>${delayMs === undefined ? 'no change was seen in two hours' : 'median of the latest minute'}</div>
</div>`;
}

function charts({ hours, seesAll, at }: Overview): Html {
  const barsOf = (numberIn: (counts: (typeof hours)[number]['counts']) => number) =>
    hours.map(({ hour, counts }) => ({
      label: hourAndMinute(hourStartMs(hour), at.zone),
      value: numberIn(counts),
    }));
  return html`<div class="charts">
${barChart({ id: 'failed-hours', title: 'Failed attempts an hour', unit: 'attempts', tone: 'bad', bars: barsOf(({ failed_count }) => failed_count) })}
${seesAll ? barChart({ id: 'started-hours', title: 'Operations started an hour', unit: 'operations', tone: 'accent', bars: barsOf(({ started_count }) => started_count) }) : ''}
</div>`;
}

function projectsAtAGlance({ projects, areProjectsWhole }: Overview): Html {
  if (projects.length === 0) return empty('No project has been seen yet.');
  const counts = countByState(projects);
  const parts = PROJECT_PARTS.map(({ state, tone }) => ({
    name: state === 'needs a person' ? (counts.get(state) === 1 ? state : 'need a person') : state,
    count: counts.get(state) ?? 0,
    tone,
    path: projectsPath({ state }),
  }));
  return html`<p><a href="${projectsPath({})}">${areProjectsWhole ? '' : 'At least '}${projects.length} ${projects.length === 1 ? 'project' : 'projects'}</a></p>
${shareBar('Projects by state', parts)}`;
}

function running({ accountId, work, names, at }: Overview): Html {
  const latest = work.open.filter(isRunning).toReversed();
  if (latest.length === 0) return empty('Nothing runs at the moment.');
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Project</th><th>Status</th><th>Began</th></tr></thead>
<tbody>${latest.slice(0, OPEN_SHOWN).map((record) => openRow(accountId, names, record, at))}</tbody></table>
${latest.length > OPEN_SHOWN ? html`<p><a href="${projectsPath({ state: 'running' })}">${work.isWhole ? '' : 'At least '}${latest.length - OPEN_SHOWN} more</a></p>` : ''}`;
}

function openRow(
  accountId: string,
  names: ReadonlyMap<string, string>,
  record: OperationRecord,
  at: PageTime,
): Html {
  const { project_id, operation_id, action, status, failures_count } = record;
  return html`<tr><td><a href="${operationPath(accountId, project_id, operation_id)}">${action}</a></td>
<td>${projectLink(accountId, project_id, names)}</td>
<td>${badge(status)}${failures_count > 0 ? html` <span class="quiet">${failures_count} failed</span>` : ''}</td>
<td>${timeAndAge(record.created_at, at)}</td></tr>`;
}
