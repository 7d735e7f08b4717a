/** The overview: is everything on time, what is open, what failed last. */

import { html } from 'hono/html';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { FeedEvent } from '../bridge/event-feed.ts';
import type { Health } from '../bridge/health.ts';
import { delayChart } from './charts.ts';
import { eventTable } from './event-table.ts';
import { age, badge, duration, empty, type Html, operationPath, projectPath, time } from './parts.ts';

export interface Overview {
  readonly accountId: string;
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly open: readonly OperationRecord[];
  readonly failures: readonly FeedEvent[];
  readonly projects: readonly ProjectRecord[];
  readonly moreProjects: string | undefined;
  readonly nowMs: number;
}

export function overviewPage(overview: Overview): Html {
  const { accountId, status, health, open, failures, nowMs } = overview;
  const last = status?.points.at(-1);
  const budget =
    last === undefined || status === undefined
      ? undefined
      : Math.round(
          (last.request_count / Math.max(1, (last.duration_ms / 60_000) * status.requests_per_minute)) * 100,
        );
  return html`<h1>Account ${accountId}</h1>
<p class="verdict">${health.healthy ? html`<span class="good"><span aria-hidden="true">●</span> Events are on time</span>` : html`<span class="bad"><span aria-hidden="true">▲</span> Events may be late</span>`}</p>
${health.reasons.map((reason) => html`<p class="notice bad">${reason}</p>`)}
<div class="cards">
<div class="card">Every project read<b>${age(status?.last_complete_walk_at, nowMs)}</b></div>
<div class="card">Rate limit used<b>${budget === undefined ? 'unknown' : `${budget} %`}</b><span class="quiet">of ${status?.requests_per_minute ?? '?'} a minute</span></div>
<div class="card">Detection delay<b>${last?.delay_p50_ms === undefined ? 'no change seen' : duration(last.delay_p50_ms)}</b><span class="quiet">median of the last minute</span></div>
<div class="card">Open operations<b>${open.length}</b><span class="quiet">${health.unpublished.count} unsent events</span></div>
</div>
<h2>Detection delay, two hours</h2>
${delayChart(status?.points ?? [], nowMs)}
<h2>Open operations</h2>
${open.length === 0 ? empty('Nothing is running, and nothing has failed without an end.') : openTable(accountId, open, nowMs)}
<h2>Latest failures</h2>
${failures.length === 0 ? empty('No failure is remembered.') : eventTable(accountId, failures)}
<h2>Projects</h2>
${overview.projects.length === 0 ? empty('No project has been seen yet.') : html`<ul>${overview.projects.map(({ project_id, is_visible }) => html`<li><a class="id" href="${projectPath(accountId, project_id)}">${project_id}</a>${is_visible ? '' : html` <span class="quiet">unreachable</span>`}</li>`)}</ul>`}
${overview.moreProjects === undefined ? '' : html`<p><a class="button" href="?projects=${overview.moreProjects}">More projects</a></p>`}`;
}

function openTable(accountId: string, open: readonly OperationRecord[], nowMs: number): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Project</th><th>Status</th><th>Since</th></tr></thead>
<tbody>${open.slice(0, 50).map(
    (record) => html`<tr>
<td><a href="${operationPath(accountId, record.project_id, record.operation_id)}">${record.action}</a></td>
<td><a class="id" href="${projectPath(accountId, record.project_id)}">${record.project_id}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${time(record.created_at)} <span class="quiet">${age(record.created_at, nowMs)}</span></td></tr>`,
  )}</tbody></table>
${open.length > 50 ? html`<p class="quiet">and ${open.length - 50} more</p>` : ''}`;
}
