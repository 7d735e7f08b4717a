/** Shows the overview of an account: whether events are on time, what is open, and what failed last. */

import { html } from 'hono/html';
import { maySee } from '../../../../shared/callers/authorize.ts';
import type { AccountStatus } from '../../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import type { Health } from '../../bridge/decide-health.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import { type HealthDeps, readHealth } from '../../bridge/health-routes.ts';
import type { FeedEvent } from '../../read-model/feed-event.ts';
import { badge } from '../html/badge.ts';
import { delayChart } from '../html/charts.ts';
import { duration } from '../html/durations.ts';
import { eventTable } from '../html/event-table.ts';
import { empty, type Html } from '../html/markup.ts';
import { freezePath, operationPath, projectPath } from '../html/paths.ts';
import { age, type PageTime, time } from '../html/times.ts';
import type { Visitor } from '../session/visitor.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import { type FreezeView, freezeNotice, maySwitchFreeze, readFreeze } from './freeze-page.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from './page.ts';
import { checkReading } from './permission.ts';
import type { RouteDeps } from './upstream-view.ts';

/** The page shows the latest failures at a glance. The page of events lists all of them. */
const FAILURES_SHOWN = 10;

/** One page of projects stays short enough to read, and the link below it leads to the next. */
const PROJECTS_PER_PAGE = 50;

/** More open operations than this are counted instead of listed, so that the page stays small while a backlog drains. */
const OPEN_SHOWN = 50;

export type OverviewDeps = HealthDeps & RefusalDeps & RouteDeps;

export function buildOverview(deps: OverviewDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkReading(deps, visitor, visitor.caller.account_id)) return READING_REFUSED;
    const overview = await readOverview(
      deps,
      visitor,
      pageTimeOf(c, deps.clock),
      c.req.query('projects') || undefined,
    );
    return { title: 'Overview', about: '*', content: overviewPage(overview) };
  };
}

interface Overview {
  readonly accountId: string;
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly open: readonly OperationRecord[];
  readonly failures: readonly FeedEvent[];
  readonly projects: readonly ProjectRecord[];
  readonly moreProjects: string | undefined;
  readonly freeze: FreezeView | undefined;
  readonly maySwitchFreeze: boolean;
  readonly at: PageTime;
}

async function readOverview(
  deps: OverviewDeps,
  { caller, model }: Visitor,
  at: PageTime,
  cursor: string | undefined,
): Promise<Overview> {
  const [{ status, health }, open, failures, projects, freeze] = await Promise.all([
    readHealth(deps, model, caller),
    model.openOperations(),
    model.feed.recent({ limit: FAILURES_SHOWN, filter: { status: 'failed' } }),
    model.projects({ limit: PROJECTS_PER_PAGE, cursor }),
    readFreeze(deps, caller),
  ]);
  const isVisible = ({ project_id }: { readonly project_id: string }) => maySee(caller, project_id);
  return {
    accountId: model.accountId,
    status,
    health,
    open: open.filter(isVisible),
    failures: failures.items.filter(isVisibleTo(caller)).slice(0, FAILURES_SHOWN),
    projects: projects.items.filter(isVisible),
    moreProjects: projects.next,
    freeze,
    maySwitchFreeze: maySwitchFreeze(caller),
    at,
  };
}

function overviewPage(overview: Overview): Html {
  const { accountId, status, health, open, failures, freeze, at } = overview;
  return html`<h1>Account ${accountId}</h1>
<p class="verdict">${health.healthy ? html`<span class="good"><span aria-hidden="true">●</span> Events are on time</span>` : html`<span class="bad"><span aria-hidden="true">▲</span> Events may be late</span>`}</p>
${health.reasons.map((reason) => html`<p class="notice bad">${reason}</p>`)}
${freezeNotice(accountId, freeze)}
${cards(overview)}
<h2>Detection delay, two hours</h2>
${delayChart(status?.points ?? [], at)}
<h2>Open operations</h2>
${open.length === 0 ? empty('No operation is open.') : openTable(accountId, open, at)}
<h2>Latest failures</h2>
${failures.length === 0 ? empty('No failure is recorded.') : eventTable(accountId, failures, at)}
<h2>Projects</h2>
${overview.projects.length === 0 ? empty('No project has been seen yet.') : html`<ul>${overview.projects.map(({ project_id, is_visible }) => html`<li><a class="id" href="${projectPath(accountId, project_id)}">${project_id}</a>${is_visible ? '' : html` <span class="quiet">unreachable</span>`}</li>`)}</ul>`}
${overview.moreProjects === undefined ? '' : html`<p><a class="button" href="?projects=${overview.moreProjects}">More projects</a></p>`}
${overview.maySwitchFreeze ? html`<p><a class="button" href="${freezePath(accountId)}">Hold all commands, or let them go on</a></p>` : ''}`;
}

function openTable(accountId: string, open: readonly OperationRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Project</th><th>Status</th><th>Since</th></tr></thead>
<tbody>${open.slice(0, OPEN_SHOWN).map(
    (record) => html`<tr>
<td><a href="${operationPath(accountId, record.project_id, record.operation_id)}">${record.action}</a></td>
<td><a class="id" href="${projectPath(accountId, record.project_id)}">${record.project_id}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${time(record.created_at, at)} <span class="quiet">${age(record.created_at, at)}</span></td></tr>`,
  )}</tbody></table>
${open.length > OPEN_SHOWN ? html`<p class="quiet">and ${open.length - OPEN_SHOWN} more</p>` : ''}`;
}

function cards({ status, health, open, at }: Overview): Html {
  const last = status?.points.at(-1);
  const used = usedPercent(status);
  return html`<div class="cards">
<div class="card">Every project read<b>${age(status?.last_complete_walk_at, at)}</b></div>
<div class="card">Rate limit used<b>${used === undefined ? 'unknown' : `${used} %`}</b><span class="quiet">of ${status?.requests_per_minute ?? '?'} a minute</span></div>
<div class="card">Detection delay<b>${last?.delay_p50_ms === undefined ? 'no change seen' : duration(last.delay_p50_ms)}</b><span class="quiet">median of the last minute</span></div>
<div class="card">Open operations<b>${open.length}</b><span class="quiet">${health.unpublished.count} unpublished events</span></div>
</div>`;
}

/**
 * Returns how much of the account's rate limit the last minute has used, in per cent; undefined while the poller has
 * not reported.
 */
function usedPercent(status: AccountStatus | undefined): number | undefined {
  const last = status?.points.at(-1);
  if (last === undefined || status === undefined) return undefined;
  const granted = Math.max(1, (last.duration_ms / 60_000) * status.requests_per_minute);
  return Math.round((last.request_count / granted) * 100);
}
