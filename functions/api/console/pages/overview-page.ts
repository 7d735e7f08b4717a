/** Shows an account at a glance: what needs a person, what runs, and whether events are on time. */

import { html } from 'hono/html';
import { type CountedHour, hourStartMs } from '../../../../shared/insights/hour-counts.ts';
import { awaitsFirstSight } from '../../../../shared/records/account-record.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import { DAY_MS, isoTimeOf } from '../../../../shared/records/time.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { Health } from '../../bridge/health-routes.ts';
import { barChart, shareBar } from '../html/charts.ts';
import { accountPath, empty, filterFold, type Html, operationPath, pageHead } from '../html/markup.ts';
import { badge, projectLink } from '../html/records.ts';
import {
  duration,
  hourAndMinute,
  type PageTime,
  rangeWords,
  type TimeRange,
  time,
  timeAndAge,
  timeRangeFields,
  timeRangeOf,
} from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import {
  type AccountState,
  type AccountStateDeps,
  countByState,
  isRunning,
  readAccountState,
  visibleHour,
} from './account-state.ts';
import { type FreezeView, freezeLink, freezeNotice, maySwitchFreeze, readFreeze } from './freeze-page.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';
import { PROJECT_PARTS, projectsPath } from './projects-page.ts';
import { type Concern, concernOf, type TroublePage, troubleSections } from './troubles.ts';
import type { RouteDeps } from './visitor-calls.ts';

/** The list of projects has everything that runs. */
const OPEN_SHOWN = 10;

export type OverviewDeps = AccountStateDeps & RefusalDeps & RouteDeps;

interface Overview extends AccountState, TroublePage {
  readonly freeze: FreezeView | undefined;
  /** `Account Watched` is still to be published, or the poller has not read any page of the project list yet. */
  readonly isFirstReading: boolean;
  /** It is false when the visitor sees some projects only, and so no sums of the account. */
  readonly seesAll: boolean;
  readonly maySwitchFreeze: boolean;
  readonly range: TimeRange;
  /** The hours of the range, which the charts show. */
  readonly chartedHours: readonly CountedHour[];
}

export function buildOverview(deps: OverviewDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model, session, pepper } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const range = timeRangeOf(c);
    const at = pageTimeOf(c, deps.clock);
    const [state, freeze, account, ranged] = await Promise.all([
      readAccountState(deps, visitor),
      readFreeze(deps, caller),
      unlessUnreadable(model.account()),
      hoursOfRange(visitor, range, at),
    ]);
    const seesAll = caller.projectIds === undefined;
    const content = overviewPage({
      ...state,
      range,
      chartedHours: ranged ?? state.hours,
      accountId: model.accountId,
      freeze,
      isFirstReading:
        account === undefined
          ? state.status?.last_complete_walk_at === undefined
          : awaitsFirstSight(account, at.nowMs),
      seesAll,
      maySwitchFreeze: maySwitchFreeze(caller),
      caller,
      formKey: formKey(session, pepper),
      path: '/console',
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

function verdict({ accountId, health, isFirstReading }: Overview): Html {
  const [tone, mark, sentence] = VERDICTS[verdictOf(health, isFirstReading)];
  return html`<p class="verdict"><span class="${tone}"><span aria-hidden="true">${mark}</span> ${sentence}</span> <a href="${accountPath(accountId)}">How account ${accountId} is read</a></p>`;
}

function troubles(overview: Overview): Html {
  const more = (count: number) =>
    html`<a href="${projectsPath({ state: 'needs a person' })}">${count} more</a>`;
  return html`${countOf(overview, 'needs a person') === 0 ? empty(nothingWords(overview)) : ''}${troubleSections(overview, overview.found, more)}`;
}

function nothingWords({ projects }: Overview): string {
  const unread = countByState(projects).get('not read yet') ?? 0;
  return unread === 0
    ? 'Nothing does. What has failed is being retried, has recovered or was done again.'
    : `Nothing does in the projects that were read. ${counted(unread, 'project')} ${unread === 1 ? 'is' : 'are'} not read yet.`;
}

function countOf({ found }: Overview, concern: Concern): number {
  return found.troubles.filter((trouble) => concernOf(trouble) === concern).length;
}

function cards(overview: Overview): Html {
  const { status, hours, health } = overview;
  const grave = countOf(overview, 'needs a person');
  const taken = countOf(overview, 'acknowledged');
  const projectCount = countByState(overview.projects).get('needs a person') ?? 0;
  const failedCount = hours.reduce((sum, { counts }) => sum + counts.failed_count, 0);
  const delayMs = status?.points.findLast(({ delay_p50_ms }) => delay_p50_ms !== undefined)?.delay_p50_ms;
  const where = grave === 0 ? 'at the moment' : `in ${counted(projectCount, 'project')}`;
  return html`<div class="cards">
<div class="card${grave > 0 ? ' bad' : ''}">Need a person<b>${overview.found.isWhole ? '' : 'at least '}${grave}</b>${where}${taken === 0 ? '' : `, ${taken} more acknowledged`}</div>
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

/** Resolves to the hours of the page's range, and to undefined when it has none. */
async function hoursOfRange({ caller, model }: Visitor, { from, until }: TimeRange, { nowMs }: PageTime) {
  if (from === undefined && until === undefined) return undefined;
  const untilMs = until === undefined ? nowMs : Date.parse(until);
  const fromMs = from === undefined ? untilMs - DAY_MS : Date.parse(from);
  return (await model.countedHours({ fromMs, untilMs })).map((hour) => visibleHour(hour, caller));
}

function charts(overview: Overview): Html {
  const { range, chartedHours, at } = overview;
  const words = rangeWords(range, at.zone);
  return html`<h2 id="charts">${words.length === 0 ? 'The last day' : `Hours ${words.join(' ')}`}</h2>
${chartedHours.length === 0 ? empty('Nothing is kept of these hours: the counts of an hour are kept for two days.') : hourCharts(overview)}
${forgottenHours(overview)}
${filterFold(words, html`<form class="filter" action="/console#charts">${timeRangeFields(range, at.zone)}<button>Show</button></form>`)}`;
}

function forgottenHours({ range: { from }, chartedHours: [first], at }: Overview): Html | '' {
  if (from === undefined || first === undefined || Date.parse(from) >= hourStartMs(first.hour)) return '';
  return html`<p class="quiet">Hours before ${time(isoTimeOf(hourStartMs(first.hour)), at)} are not shown: the counts of an hour are kept for two days.</p>`;
}

function hourCharts({ chartedHours, seesAll, at }: Overview): Html {
  const barsOf = (numberIn: (counts: CountedHour['counts']) => number) =>
    chartedHours.map(({ hour, counts }) => ({
      label: hourAndMinute(hourStartMs(hour), at.zone),
      value: numberIn(counts),
    }));
  return html`<div class="charts">
${barChart({ id: 'failed-hours', title: 'Failed attempts an hour', unit: 'attempts', tone: 'bad', step: 'hour', bars: barsOf(({ failed_count }) => failed_count) })}
${seesAll ? barChart({ id: 'started-hours', title: 'Operations started an hour', unit: 'operations', tone: 'accent', step: 'hour', bars: barsOf(({ started_count }) => started_count) }) : ''}
</div>`;
}

function projectsAtAGlance({ projects, areProjectsWhole, status, seesAll }: Overview): Html {
  if (projects.length === 0) return empty('No project has been seen yet.');
  const counts = countByState(projects);
  const parts = PROJECT_PARTS.map(({ state, tone }) => ({
    name: state === 'needs a person' && counts.get(state) !== 1 ? 'need a person' : state,
    count: counts.get(state) ?? 0,
    tone,
    path: projectsPath({ state }),
  }));
  const isAnyGone = seesAll && status !== undefined && projects.length > status.project_count;
  const runningCount = projects.filter(({ isRunning: runs }) => runs).length;
  return html`<p><a href="${projectsPath({})}">${areProjectsWhole ? '' : 'At least '}${counted(projects.length, 'project')}</a>${runningCount === 0 ? '' : html`; something runs in <a href="${projectsPath({ state: 'running' })}">${runningCount} of them</a>`}${isAnyGone ? `; the poller reads ${status.project_count} of them, and the others count by the state that they had last` : ''}</p>
${shareBar('Projects by state', parts)}`;
}

function running({ accountId, work, names, at }: Overview): Html {
  const latest = work.open.filter(isRunning).toReversed();
  if (latest.length === 0)
    return empty(
      work.isWhole
        ? 'Nothing runs at the moment.'
        : 'None of the open operations that this page looks at runs.',
    );
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

/** `first_reading` means that not every project has been read, so events can be minutes late. */
export type Verdict = 'on_time' | 'late' | 'first_reading' | 'paused';

/** A project that is new while others are watched does not begin a first reading anew, and neither does a poller that starts. */
export function verdictOf(
  { healthy, state }: Pick<Health, 'healthy' | 'state'>,
  isFirstReading: boolean,
): Verdict {
  if (!healthy) return 'late';
  if (state === 'paused') return 'paused';
  return isFirstReading ? 'first_reading' : 'on_time';
}
