/** Shows how one account is read: delays, the rate limit, projects that cannot be read, and the freeze. */

import { html } from 'hono/html';
import { maySee } from '../../../../../shared/callers/authorize.ts';
import type { AccountStatus } from '../../../../../shared/core/records/account-status.ts';
import type { Health } from '../../../bridge/decide-health.ts';
import { type HealthDeps, readHealth } from '../../../bridge/health-routes.ts';
import { unreadWords } from '../../deciding/unread-reason.ts';
import { delayChart } from '../../html/chart/charts.ts';
import { empty, facts, type Html, pageHead } from '../../html/markup.ts';
import { projectLink } from '../../html/record/project-link.ts';
import { type PageTime, timeAndAge } from '../../html/time/times.ts';
import type { Visitor } from '../../session/visitor.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import {
  type FreezeView,
  freezeLink,
  freezeNotice,
  maySwitchFreeze,
  readFreeze,
} from '../administration/freeze-page.ts';
import { type BuildPage, NOTHING_HERE, pageTimeOf } from '../page.ts';
import { checkReading } from '../permission.ts';
import type { RouteDeps } from '../upstream-view.ts';

export type AccountDeps = HealthDeps & RefusalDeps & RouteDeps;

interface AccountView {
  readonly accountId: string;
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly freeze: FreezeView | undefined;
  readonly maySwitch: boolean;
  readonly names: ReadonlyMap<string, string>;
  readonly isVisible: (projectId: string) => boolean;
  readonly at: PageTime;
}

export function buildAccount(deps: AccountDeps): BuildPage {
  return async (c, visitor) => {
    const accountId = c.req.param('account_id') ?? '';
    if (!checkReading(deps, visitor, accountId)) return NOTHING_HERE;
    const content = accountPage(await readView(deps, visitor, pageTimeOf(c, deps.clock)));
    return { title: `Account ${accountId}`, about: '*', content };
  };
}

async function readView(deps: AccountDeps, { caller, model }: Visitor, at: PageTime): Promise<AccountView> {
  const work = await model.workAtHand();
  const [{ status, health }, freeze, names] = await Promise.all([
    readHealth(deps, { unpublished: async () => work.unpublished }, caller),
    readFreeze(deps, caller),
    model.projectNames(),
  ]);
  const isVisible = (projectId: string) => maySee(caller, projectId);
  const maySwitch = maySwitchFreeze(caller);
  return { accountId: model.accountId, status, health, freeze, maySwitch, names, isVisible, at };
}

function accountPage(view: AccountView): Html {
  const { accountId, status, health, freeze, maySwitch, at } = view;
  const used = usedPercent(status);
  return html`${pageHead(`Account ${accountId}`, maySwitch ? freezeLink(accountId, freeze) : '')}
${health.reasons.map((reason) => html`<p class="notice bad">${reason}</p>`)}
${pauseNotice(health, at)}
${freezeNotice(accountId, freeze)}
${facts([
  ['The poller reported', status && timeAndAge(status.written_at, at)],
  [
    'Every project was read since',
    status?.last_complete_walk_at === undefined
      ? 'not yet: a project is being read for the first time'
      : timeAndAge(status.last_complete_walk_at, at),
  ],
  ['Projects', status?.project_count],
  ['Open operations', status?.open_operation_count],
  ['Unpublished events', health.unpublished.count],
  ['Rate limit of the poller', status && `${Math.round(status.requests_per_minute)} requests a minute`],
  ['Used in the last minute', used === undefined ? undefined : `${used} %`],
  ['Refused for their rate', status && `${refusedCount(status)} requests in two hours`],
])}
<h2>How long a change waits until it is seen</h2>
<figure>${delayChart(status?.points ?? [], at)}</figure>
<h2>Projects that cannot be read</h2>
${unreadTable(view)}`;
}

function pauseNotice({ state, paused_since }: Health, at: PageTime): Html | '' {
  if (state !== 'paused') return '';
  const since = paused_since === undefined ? '' : html` since ${timeAndAge(paused_since, at)}`;
  return html`<p class="notice">An administrator has paused this account${since}: nothing is sent to the upstream for it. The figures are of the time before.</p>`;
}

function unreadTable({ accountId, status, names, isVisible, at }: AccountView): Html {
  const unread = (status?.unread_projects ?? []).filter(({ project_id }) => isVisible(project_id));
  if (unread.length === 0) return empty('Every project that was tried was read to its end.');
  return html`<table class="stack"><thead><tr><th>Project</th><th>Not read since</th><th>Reason</th></tr></thead>
<tbody>${unread.map(({ project_id, since, reason }) => html`<tr><td>${projectLink(accountId, project_id, names)}</td><td data-label="Not read since">${timeAndAge(since, at)}</td><td>${unreadWords(reason)}</td></tr>`)}</tbody></table>`;
}

function refusedCount({ points }: AccountStatus): number {
  return points.reduce((sum, { throttled_count }) => sum + throttled_count, 0);
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
