/** Lists all accounts of the bridge for its administrators, with those that need a person first. */

import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { type AccountListDeps, type ListedAccount, readAccountsPage } from '../../bridge/account-routes.ts';
import { accountPath, empty, type Html, stateBadge } from '../html/markup.ts';
import { type PageTime, timeAndAge } from '../html/times.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import { type BuildPage, checkScope, messagePage, pageTimeOf } from './page.ts';

export interface AccountsDeps extends RefusalDeps {
  readonly accountList: AccountListDeps;
  readonly clock: Clock;
}

/** People do not read more rows, and the first ones are those that need a person. */
const ROWS_MAX = 200;

const NO_ACCESS = messagePage(
  'No access',
  'Your token needs the scope accounts:read, for all projects.',
  403,
);

function mayListAccounts({ scopes, projectIds }: Caller): boolean {
  return scopes.has('accounts:read') && projectIds === undefined;
}

export function buildAccounts(deps: AccountsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller } = visitor;
    if (!checkScope(deps, visitor, 'accounts:read', 'consoleAccounts') || !mayListAccounts(caller))
      return NO_ACCESS;
    const text = (c.req.query('text') ?? '').slice(0, 63).trim().toLowerCase();
    const { accounts } = await readAccountsPage(deps.accountList, { limit: Number.POSITIVE_INFINITY });
    const at = pageTimeOf(c, deps.clock);
    const fitting = byTrouble(accounts.filter(({ account_id }) => account_id.includes(text)));
    const content = html`<h1>Accounts</h1>
<p class="quiet">The command <code>operations-bridge accounts</code> adds, pauses and removes accounts. ${summaryOf(accounts)}</p>
<form class="filter" action="/console/accounts"><div><label for="text">Account</label><input id="text" name="text" value="${text}" size="24" maxlength="63"></div><button>Show</button></form>
${fitting.length === 0 ? empty('No account matches.') : accountTable(fitting.slice(0, ROWS_MAX), caller, at)}
${fitting.length > ROWS_MAX ? html`<p class="quiet">${counted(fitting.length - ROWS_MAX, 'further account')} not shown; the filter finds them.</p>` : ''}`;
    return { title: 'Accounts', about: 'time', content };
  };
}

function summaryOf(accounts: readonly ListedAccount[]): string {
  const unwell = accounts.filter(({ healthy, state }) => healthy === false || state === 'refused');
  const paused = accounts.filter(({ state }) => state === 'paused');
  return `${counted(accounts.length, 'account')}, ${unwell.length} in trouble, ${paused.length} paused.`;
}

function accountTable(accounts: readonly ListedAccount[], caller: Caller, at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Account</th><th>State</th><th>Projects</th><th>Last read completely</th><th>Lane</th><th>Trouble</th></tr></thead>
<tbody>${accounts.map(
    (
      account,
    ) => html`<tr><td>${nameOf(account, caller)}<br><span class="quiet nobreak">${account.origin}</span></td>
<td>${stateOf(account)}</td>
<td data-label="Projects">${account.project_count ?? ''}</td>
<td data-label="Last read completely">${account.last_complete_walk_at === undefined ? '' : timeAndAge(account.last_complete_walk_at, at)}</td>
<td data-label="Lane">${account.lane === undefined ? html`<span class="quiet">chosen by its id</span>` : `${account.lane}, pinned`}</td>
<td>${account.reasons.join(' ')}</td></tr>`,
  )}</tbody></table>`;
}

/** A session belongs to one account, so the pages of the others are closed to it. */
function nameOf({ account_id }: ListedAccount, caller: Caller): Html | string {
  if (account_id !== caller.account_id) return account_id;
  return html`<a href="${accountPath(account_id)}">${account_id}</a>`;
}

function stateOf({ state, healthy }: ListedAccount): Html {
  if (state === 'refused') return stateBadge('bad', '▲', 'refused');
  if (state === 'paused') return stateBadge('calm', '○', 'paused');
  return healthy === false ? stateBadge('bad', '▲', 'in trouble') : stateBadge('good', '●', 'healthy');
}

/** A refused account has nothing polled, an unhealthy one something, and a paused one nothing because a person wants it so. */
function troubleOf({ state, healthy }: ListedAccount): number {
  if (state === 'refused') return 0;
  if (state === 'paused') return 2;
  return healthy === false ? 1 : 3;
}

/** Among unhealthy accounts the one that was read completely the longest ago comes first, and one that never was before it. */
export function byTrouble(accounts: readonly ListedAccount[]): readonly ListedAccount[] {
  return accounts.toSorted((a, b) => {
    const [rankA, rankB] = [troubleOf(a), troubleOf(b)];
    if (rankA !== rankB) return rankA - rankB;
    const [readA, readB] = [a.last_complete_walk_at ?? '', b.last_complete_walk_at ?? ''];
    if (rankA === 1 && readA !== readB) return readA < readB ? -1 : 1;
    return a.account_id < b.account_id ? -1 : 1;
  });
}
