/** Serves the routes that show who a caller is, and how the poller is doing with the caller's account. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { viewOfAccount } from '../accounts/account-view.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import type { AccountAdminRouteDeps } from './account-admin-routes.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { decideHealth } from './decide-health.ts';
import { cursor, limit } from './page-query.ts';

export interface AccountRouteDeps extends AccountAdminRouteDeps {
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly clock: Pick<Clock, 'now'>;
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
          "A caller with `accounts:read` sees all accounts of the bridge, by id and page by page. Every other caller sees the token's own account.",
        access: 'signed_in',
        query: z.strictObject({ limit, cursor }),
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

/** The cursor is the last id of the page before. It hides nothing, because the caller may see every account. */
async function listAll(
  { accountAdmin: { directory, store }, statusOf, clock }: AccountRouteDeps,
  query: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<ApiAnswer> {
  const [items] = await Promise.all([store.list(), directory.refresh()]);
  const itemOf = new Map(items.map((item) => [item.account_id, item]));
  const left = [...directory.all()]
    .filter(([id]) => query.cursor === undefined || id > query.cursor)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const page = left.slice(0, query.limit);
  const accounts = await Promise.all(
    page.map(async ([id, account]) => {
      const status = await statusOf(id);
      const { healthy, reasons } = decideHealth({ status, unpublished: NOTHING, nowMs: clock.now() });
      const { points: _points, learned: _learned, unread_projects: _unread, ...shown } = status ?? {};
      return { ...shown, ...viewOfAccount(account, itemOf.get(id)), healthy, reasons };
    }),
  );
  const last = left.length > page.length ? page.at(-1)?.[0] : undefined;
  return { status: 200, body: { accounts, ...(last !== undefined && { cursor: last }) } };
}

/** What waits to be published stands in an index of each account, which a list of many accounts does not read. */
const NOTHING = { count: 0, oldest_at: undefined };
