/** Shows an account at a glance: what needs a person, what runs, and whether events are on time. */

import { html } from 'hono/html';
import type { AccountStatus } from '../../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { hourStartMs } from '../../../../shared/insights/hour-counts.ts';
import type { Health, HealthDeps } from '../../bridge/health-routes.ts';
import type { HeldBack } from '../../read-model/alerts.ts';
import { barChart, shareBar } from '../html/charts.ts';
import {
  accountPath,
  counted,
  empty,
  type Html,
  mutesPath,
  operationPath,
  pageHead,
} from '../html/markup.ts';
import { badge, projectLink } from '../html/records.ts';
import { duration, hourAndMinute, type PageTime, time, timeAndAge } from '../html/times.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import {
  type AccountState,
  type Concern,
  concernOf,
  countByState,
  type HeldTrouble,
  isRunning,
  readAccountState,
  type Trouble,
} from './account-state.ts';
import { type FreezeView, freezeLink, freezeNotice, maySwitchFreeze, readFreeze } from './freeze-page.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';
import { PROJECT_PARTS, projectsPath } from './projects-page.ts';
import type { RouteDeps } from './visitor-calls.ts';

/** The overview fits on two screens. The list of projects has everything. */
const GROUPS_SHOWN = 15;
const OPEN_SHOWN = 10;

export type OverviewDeps = HealthDeps & RefusalDeps & RouteDeps;

interface Overview extends AccountState {
  readonly accountId: string;
  readonly freeze: FreezeView | undefined;
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
    const seesAll = caller.projectIds === undefined;
    const at = pageTimeOf(c, deps.clock);
    const content = overviewPage({
      ...state,
      accountId: model.accountId,
      freeze,
      seesAll,
      maySwitchFreeze: maySwitchFreeze(caller),
      at,
    });
    return { title: 'Overview', about: '*', content };
  };
}

function overviewPage(overview: Overview): Html {
  const { accountId, health, freeze, maySwitchFreeze: maySwitch } = overview;
  return html`${pageHead('Overview', maySwitch ? freezeLink(accountId, freeze) : '')}
${verdict(overview)}
${health.reasons.map((reason) => html`<p class="notice bad">${reason}</p>`)}
${freezeNotice(accountId, freeze)}
${cards(overview)}
<h2>What needs a person</h2>
${troubles(overview)}
<h2>The last day</h2>
${charts(overview)}
<h2>Projects</h2>
${projectsAtAGlance(overview)}
<h2>What runs now</h2>
${running(overview)}`;
}

const VERDICTS: Readonly<Record<Verdict, readonly [tone: string, mark: string, sentence: string]>> = {
  on_time: ['good', '●', 'Events are on time'],
  late: ['bad', '▲', 'Events may be late'],
  paused: ['calm', '○', 'The account is paused, and nothing is read'],
  first_reading: ['busy', '◐', 'Every project is being read for the first time'],
};

function verdict({ accountId, health, status }: Overview): Html {
  const [tone, mark, sentence] = VERDICTS[verdictOf(health, status)];
  return html`<p class="verdict"><span class="${tone}"><span aria-hidden="true">${mark}</span> ${sentence}</span> <a href="${accountPath(accountId)}">How account ${accountId} is read</a></p>`;
}

function ofConcern(
  { troubles: all }: Pick<AccountState, 'troubles'>,
  concern: Concern,
): readonly HeldTrouble[] {
  return all.filter((trouble) => concernOf(trouble) === concern);
}

/** What a person has acknowledged stands apart, because no other person needs to look at it. */
function troubles(overview: Overview): Html {
  const { at } = overview;
  const [grave, taken, healing] = [
    ofConcern(overview, 'needs a person'),
    ofConcern(overview, 'acknowledged'),
    ofConcern(overview, 'failing'),
  ];
  const table = (groups: readonly HeldTrouble[]) => troubleTable(overview, groups.slice(0, GROUPS_SHOWN), at);
  return html`${grave.length === 0 ? empty('Nothing does. What has failed is being retried, or has recovered.') : table(grave)}
${grave.length > GROUPS_SHOWN ? html`<p><a href="${projectsPath({ state: 'needs a person' })}">${grave.length - GROUPS_SHOWN} more</a></p>` : ''}
${taken.length === 0 ? '' : html`<h3>Acknowledged</h3>${table(taken)}`}
${healing.length === 0 ? '' : html`<details id="healing"><summary>${healing.length === 1 ? 'One failure' : `${healing.length} failures`} that the upstream is retrying</summary>${table(healing)}</details>`}`;
}

function cards(overview: Overview): Html {
  const { status, hours, health } = overview;
  const grave = ofConcern(overview, 'needs a person');
  const taken = ofConcern(overview, 'acknowledged').length;
  const projectCount = new Set(grave.map(({ project_id }) => project_id)).size;
  const failedCount = hours.reduce((sum, { counts }) => sum + counts.failed_count, 0);
  const delayMs = status?.points.findLast(({ delay_p50_ms }) => delay_p50_ms !== undefined)?.delay_p50_ms;
  const where = grave.length === 0 ? 'at the moment' : `in ${counted(projectCount, 'project')}`;
  return html`<div class="cards">
<div class="card${grave.length > 0 ? ' bad' : ''}">Need a person<b>${grave.length}</b>${where}${taken === 0 ? '' : `, ${taken} more acknowledged`}</div>
${runningCard(overview)}
<div class="card">Failed attempts<b>${failedCount}</b>in 24 hours</div>
<div class="card">A change is seen after<b>${delayMs === undefined ? '–' : duration(delayMs)}</b>${delayWords(delayMs, health)}</div>
</div>`;
}

function delayWords(delayMs: number | undefined, { state }: Health): string {
  if (delayMs === undefined) return 'no change was seen in two hours';
  return state === 'paused' ? 'median of the last minute before the pause' : 'median of the latest minute';
}

/** Open operations that do not run wait for a retry. */
function runningCard({ status, work, seesAll }: Overview): Html {
  const runningCount = work.open.filter(isRunning).length;
  const openCount = seesAll
    ? Math.max(status?.open_operation_count ?? 0, work.open.length)
    : work.open.length;
  const others = work.isWhole
    ? `${counted(work.open.length - runningCount, 'other')} ${work.open.length - runningCount === 1 ? 'waits' : 'wait'} for a retry`
    : `of ${openCount} open operations, of which not all were looked at`;
  return html`<div class="card">Run now<b>${work.isWhole ? '' : 'at least '}${runningCount}</b>${others}</div>`;
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
    name: state === 'needs a person' && counts.get(state) !== 1 ? 'need a person' : state,
    count: counts.get(state) ?? 0,
    tone,
    path: projectsPath({ state }),
  }));
  const runningCount = projects.filter(({ isRunning: runs }) => runs).length;
  return html`<p><a href="${projectsPath({})}">${areProjectsWhole ? '' : 'At least '}${counted(projects.length, 'project')}</a>${runningCount === 0 ? '' : html`; something runs in <a href="${projectsPath({ state: 'running' })}">${runningCount} of them</a>`}</p>
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

/** `first_reading` means that nothing can be on time or late yet. */
export type Verdict = 'on_time' | 'late' | 'first_reading' | 'paused';

/**
 * `status` is undefined before the poller's first report. A project that is new while others are watched does not
 * begin a first reading anew.
 */
export function verdictOf(
  { healthy, state }: Pick<Health, 'healthy' | 'state'>,
  status: Pick<AccountStatus, 'last_complete_walk_at' | 'points'> | undefined,
): Verdict {
  if (!healthy) return 'late';
  if (state === 'paused') return 'paused';
  const isWatched = status?.points.some(({ delay_p50_ms }) => delay_p50_ms !== undefined) === true;
  return status?.last_complete_walk_at === undefined && !isWatched ? 'first_reading' : 'on_time';
}

const TROUBLE_WORDS: Readonly<Record<Trouble, string>> = {
  given_up: 'given up',
  repeated: 'failed repeatedly',
  stalled: 'open for unusually long',
  lasting: 'failed, not recovered',
  failing: 'failed, is retried',
};

function troubleTable(
  { accountId, names }: { readonly accountId: string; readonly names: ReadonlyMap<string, string> },
  groups: readonly HeldTrouble[],
  at: PageTime,
): Html {
  return html`<table class="stack"><thead><tr><th>What</th><th>Project</th><th>Action</th><th class="number">Failed</th><th>Last change</th></tr></thead>
<tbody>${groups.map((group) => rowOf(accountId, names, group, at))}</tbody></table>`;
}

function rowOf(
  accountId: string,
  names: ReadonlyMap<string, string>,
  { project_id, action, trouble, operations, held_back }: HeldTrouble,
  at: PageTime,
): Html | '' {
  const [latest] = operations;
  if (latest === undefined) return '';
  const failedCount = operations.reduce((sum, { failures_count }) => sum + failures_count, 0);
  const tone = trouble === 'failing' || held_back.acknowledged !== undefined ? 'busy' : 'bad';
  return html`<tr><td><span class="badge ${tone}"><span aria-hidden="true">▲</span> ${TROUBLE_WORDS[trouble]}</span>${heldBackWords(held_back, at)}</td>
<td>${projectLink(accountId, project_id, names)}</td>
<td><a href="${operationPath(accountId, project_id, latest.operation_id)}">${action}</a>${operations.length > 1 ? html` <span class="quiet">and ${operations.length - 1} more</span>` : ''}</td>
<td class="number" data-label="Failed attempts">${failedCount === 0 ? '' : failedCount}</td>
<td>${timeAndAge(latest.updated_at, at)}</td></tr>`;
}

function heldBackWords({ mute, acknowledged }: HeldBack, at: PageTime): Html {
  return html`${mute === undefined ? '' : html`<br><a href="${mutesPath({})}">muted until ${time(mute.until, at)}</a>`}${acknowledged === undefined ? '' : html`<br><span class="quiet">acknowledged by ${acknowledged.client_id}</span>`}`;
}
