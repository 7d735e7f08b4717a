/** Serves the routes that show who a caller is, and how the poller is doing with the caller's account. */

import * as z from 'zod';
import { maySee } from '../../../shared/callers/authorize.ts';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

export function accountRoutes(
  modelOf: ModelOf,
  statusOf: (accountId: string) => Promise<AccountStatus | undefined>,
): readonly Route[] {
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
        access: 'signed_in',
        answer: z.looseObject({ accounts: z.array(z.looseObject({ account_id: z.string() })) }),
      },
      async ({ caller }, { accountId }) => {
        const status = await statusOf(accountId);
        const unread = status?.unread_projects?.filter(({ project_id }) => maySee(caller, project_id));
        const account = { ...status, unread_projects: unread, account_id: accountId };
        return { status: 200, body: { accounts: [account] } };
      },
    ),
  ];
}
