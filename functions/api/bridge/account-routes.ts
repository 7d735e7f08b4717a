/**
 * Serves who a caller is, and how the poller is doing with accounts: with the caller's own, and for administrators
 * with each. It says how an account is shown, and which of its settings are allowed and hardly meant.
 */

import * as z from 'zod';
import { type AccountItem, accountShape } from '../../../shared/accounts/account.ts';
import type {
  AccountDirectory,
  AccountStanding,
  ServedAccount,
} from '../../../shared/accounts/account-directory.ts';
import type { AccountReader } from '../../../shared/accounts/account-store.ts';
import { type Caller, maySee, SCOPES } from '../../../shared/callers/scopes.ts';
import { type ApiAccount, apiAccount } from '../../../shared/config/api-config.ts';
import type { AccountStatus } from '../../../shared/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { cursor, limit as limitParameter, type ModelOf, readRoute } from './bridge-route.ts';
import { decideHealth } from './health-routes.ts';

export interface AccountRouteDeps {
  readonly accountList: AccountListDeps;
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
}

export function accountRoutes(modelOf: ModelOf, deps: AccountRouteDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getCaller',
        path: '/me',
        summary: 'Who you are here, and what you may do',
        access: 'signed_in',
        answer: z.looseObject({ client_id: z.string() }),
      },
      async ({ caller: { client_id, account_id, scopes, projectIds } }) => {
        const project_ids = projectIds === undefined ? null : [...projectIds];
        const held = SCOPES.filter((scope) => scopes.has(scope));
        return { status: 200, body: { client_id, account_id, scopes: held, project_ids } };
      },
    ),
    readRoute(
      modelOf,
      {
        id: 'listAccounts',
        path: '/accounts',
        summary: 'The accounts you can see, and how the poller is doing with them',
        description:
          "A caller with `accounts:read` sees all accounts of the bridge, by id and page by page, and with `account_id` one of them with all that the poller reports of it. Every other caller sees the token's own account.",
        access: 'signed_in',
        query: z.strictObject({
          limit: limitParameter,
          cursor,
          account_id: apiAccount.shape.account_id.optional().describe('Only this account, in full'),
        }),
        answer: z.looseObject({
          accounts: z.array(z.looseObject({ account_id: z.string() })),
          cursor: z.string().optional().describe('For the next page; absent at the end.'),
        }),
      },
      ({ caller, query }, { accountId }) =>
        isAdministrator(caller) ? listAll(deps, query) : showOwn(deps, caller, accountId),
    ),
  ];
}

function isAdministrator({ scopes, projectIds }: Caller): boolean {
  return scopes.has('accounts:read') && projectIds === undefined;
}

async function showOwn(
  { statusOf }: AccountRouteDeps,
  caller: Caller,
  accountId: string,
): Promise<ApiAnswer> {
  const status = await statusOf(accountId);
  const unread = status?.unread_projects?.filter(({ project_id }) => maySee(caller, project_id));
  return { status: 200, body: { accounts: [{ ...status, unread_projects: unread, account_id: accountId }] } };
}

interface ListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly account_id?: string | undefined;
}

/** The cursor is the last id of the page before. It hides nothing, because the caller may see every account. */
async function listAll(
  { accountList, statusOf }: AccountRouteDeps,
  { limit: most, cursor: after, account_id: only }: ListQuery,
): Promise<ApiAnswer> {
  const { accounts, last } = await readAccountsPage(accountList, { limit: most, after, only });
  if (only === undefined)
    return { status: 200, body: { accounts, ...(last !== undefined && { cursor: last }) } };
  const status = await statusOf(only);
  return { status: 200, body: { accounts: accounts.map((account) => ({ ...status, ...account })) } };
}

export interface AccountListDeps {
  readonly directory: AccountDirectory<ApiAccount>;
  readonly store: AccountReader;
  /** Resolves to the status of each account that has one, by account id. */
  readonly statusesOf: (accountIds: readonly string[]) => Promise<ReadonlyMap<string, AccountStatus>>;
  readonly clock: Clock;
}

export interface ListedAccount extends AccountView {
  /** It is absent while the account is not polled, because nothing is known of its health then. */
  readonly healthy?: boolean;
  readonly reasons: readonly string[];
  readonly project_count?: number;
  readonly open_operation_count?: number;
  readonly last_complete_walk_at?: string | undefined;
}

export interface AccountsPage {
  readonly accounts: readonly ListedAccount[];
  /** The last id of the page, when there are more. */
  readonly last: string | undefined;
}

interface PageChoice {
  readonly limit: number;
  /** The page begins behind this id. */
  readonly after?: string | undefined;
  /** The page has this account alone, if there is one of this id. */
  readonly only?: string | undefined;
}

/** Resolves to a page of all accounts, by id. */
export async function readAccountsPage(
  deps: AccountListDeps,
  { limit, after, only }: PageChoice,
): Promise<AccountsPage> {
  const [items] = await Promise.all([deps.store.list(), deps.directory.refresh()]);
  const itemOf = new Map(items.map((item) => [item.account_id, item]));
  const left = [...deps.directory.all()]
    .filter(([id]) => (after === undefined || id > after) && (only === undefined || id === only))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const page = left.slice(0, limit);
  const statuses = await deps.statusesOf(page.map(([id]) => id));
  const accounts = page.map(([id, account]) => {
    const view = viewOfAccount(account, itemOf.get(id));
    return { ...view, ...healthOf(account, statuses.get(id), deps.clock.now()) };
  });
  return { accounts, last: left.length > page.length ? page.at(-1)?.[0] : undefined };
}

/** What waits to be published stands in an index of each account, which a list of many accounts does not read. */
const NOTHING_UNPUBLISHED = { count: 0, oldest_at: undefined };

function healthOf(
  standing: AccountStanding,
  status: AccountStatus | undefined,
  nowMs: number,
): Pick<ListedAccount, 'healthy' | 'reasons' | 'project_count'> {
  const {
    points: _points,
    learned: _learned,
    unread_projects: _unread,
    account_id: _id,
    ...shown
  } = status ?? ({} as Partial<AccountStatus>);
  const { healthy, reasons } = decideHealth({ standing, status, unpublished: NOTHING_UNPUBLISHED, nowMs });
  return { ...shown, ...(standing.state === 'active' && { healthy }), reasons };
}

export const accountView = z.looseObject({
  account_id: z.string(),
  state: z
    .enum(['active', 'paused', 'refused'])
    .describe('refused: the deployment does not allow its host or its secret; `fault` says which.'),
  state_since: z.string().optional().describe('An administrator has set the state at this time.'),
  origin: z
    .enum(['configured', 'added'])
    .describe('configured: it comes with the deployment and is changed there; here it can only be paused.'),
  upstream_base_url: z.string(),
  lane: z.number().optional().describe('The lane to which it is pinned.'),
  fault: z.string().optional(),
  settings: z
    .looseObject({ key_secret_id: accountShape.key_secret_id })
    .optional()
    .describe('Of an added account. It names secrets and holds no key.'),
  changed_at: z.string().optional().describe('Absent when nothing was changed since the deployment.'),
  changed_by: z.string().optional(),
  added_at: z.string().optional(),
  added_by: z.string().optional(),
});

export type AccountView = z.output<typeof accountView>;

/** The item is undefined for a configured account that was never paused. */
export function viewOfAccount(
  { settings: served, state, state_since, origin, lane, fault }: ServedAccount<ApiAccount>,
  item: AccountItem | undefined,
): AccountView {
  const { account_id, upstream_base_url } = served;
  const { account_id: _id, upstream_base_url: _url, ...settings } = item?.settings ?? {};
  const isAdded = origin === 'added' && item !== undefined;
  return {
    account_id,
    state,
    ...(state_since !== undefined && { state_since }),
    origin,
    upstream_base_url,
    ...(lane !== undefined && { lane }),
    ...(fault !== undefined && { fault }),
    ...(isAdded && { settings: settings as AccountView['settings'] }),
    ...(isAdded && { added_at: item.added_at, added_by: item.added_by }),
    ...(item && { changed_at: item.changed_at, changed_by: item.changed_by }),
  };
}

/** A person can act on a few names, and has the list of accounts for more. */
const NAMED_MAX = 5;

/** `accountIds` are the other accounts that have the same key of the upstream. Returns a sentence for each warning. */
export function keyWarnings(accountIds: readonly string[]): readonly string[] {
  if (accountIds.length === 0) return [];
  const named = accountIds.slice(0, NAMED_MAX).join(', ');
  const others = accountIds.length > NAMED_MAX ? ` and ${accountIds.length - NAMED_MAX} more` : '';
  return [
    `The same key is used for ${named}${others}: these accounts share one rate limit of the upstream, and each project that several of them see is polled and published once for each.`,
  ];
}
