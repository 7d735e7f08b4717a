/** Shows how one account is read: delays, the rate limit, projects that cannot be read, and the freeze. */

import { html } from 'hono/html';
import { maySee } from '../../../../shared/callers/scopes.ts';
import type { UpstreamErrorKind } from '../../../../shared/rates/retry-decision.ts';
import type { AccountStatus } from '../../../../shared/records/account-status.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { type Health, type HealthDeps, readHealth } from '../../bridge/health-routes.ts';
import type { UsageDeps } from '../../bridge/usage-routes.ts';
import { delayChart } from '../html/charts.ts';
import { empty, facts, type Html, pageHead } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { type PageTime, timeAndAge } from '../html/times.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import { type FreezeView, freezeLink, freezeNotice, maySwitchFreeze, readFreeze } from './freeze-page.ts';
import { type BuildPage, checkReading, NOTHING_HERE, pageTimeOf } from './page.ts';
import { usageSection } from './usage-section.ts';
import type { RouteDeps } from './visitor-calls.ts';

export type AccountDeps = HealthDeps & RefusalDeps & RouteDeps & UsageDeps;

interface AccountView {
  readonly accountId: string;
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly freeze: FreezeView | undefined;
  readonly usage: Html | '';
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
  const [{ status, health }, freeze, names, account] = await Promise.all([
    readHealth(deps, { unpublished: async () => work.unpublished }, caller),
    readFreeze(deps, caller),
    model.projectNames(),
    caller.projectIds === undefined ? unlessUnreadable(model.account()) : undefined,
  ]);
  const usage = usageSection(account?.usage, deps.unitHourPriceOf(model.accountId), at);
  const isVisible = (projectId: string) => maySee(caller, projectId);
  const maySwitch = maySwitchFreeze(caller);
  return { accountId: model.accountId, status, health, freeze, usage, maySwitch, names, isVisible, at };
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
      ? 'not yet: the poller has not read every project since it started'
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
${view.usage}
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

type Reason = UpstreamErrorKind | 'unfinished' | 'item_unreadable' | 'failed';

const REASON_WORDS: Readonly<Record<Reason, string>> = {
  unauthorized: 'the upstream rejects the key',
  forbidden: 'the key may not read it',
  not_found: 'the upstream does not find it',
  locked: 'the upstream refuses while other operations run',
  rate_limited: 'the upstream refuses more requests for now',
  unavailable: 'the upstream fails',
  rejected: 'the upstream refuses the request',
  malformed_answer: "the upstream's answer cannot be read",
  network: 'the upstream cannot be reached',
  timeout: 'the upstream does not answer in time',
  cancelled: 'the reading was interrupted',
  unfinished: 'it has more pages than one reading takes, and is read on',
  item_unreadable: 'a stored record of it cannot be read',
  failed: 'the bridge failed, and its log says why',
};

/** `reason` is what the poller reports. A reason of a newer poller is shown as it is. */
export function unreadWords(reason: string): string {
  return Object.hasOwn(REASON_WORDS, reason) ? REASON_WORDS[reason as Reason] : reason;
}
