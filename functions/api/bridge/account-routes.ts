/** Serves the routes that show who a caller is, and how the poller is doing with the caller's account. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import { apiAccount } from '../../../shared/config/api-accounts.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { type AccountListDeps, readAccountsPage, readLanes } from './account-list.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { cursor, limit } from './page-query.ts';

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
          limit,
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
    readRoute(
      modelOf,
      {
        id: 'listLanes',
        path: '/lanes',
        summary: 'How the lanes of the poller are doing',
        description:
          'A lane polls many accounts in one process. Each one says how near it is to what a process can do, what helps against too much load, and which accounts it has set aside because their pollers failed. A lane reports when something has changed, and at least every five minutes.',
        access: 'accounts:read',
        isAccountWide: true,
        answer: z.looseObject({ lanes: z.array(z.looseObject({ lane: z.number() })) }),
      },
      async () => ({ status: 200, body: { lanes: await readLanes(deps.accountList) } }),
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
