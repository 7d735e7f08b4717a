/** Shows an account of the bridge to its administrators: what it is set to, and how the poller is doing with it. */

import * as z from 'zod';
import type { AccountItem } from '../../../shared/accounts/account-item.ts';
import { accountShape } from '../../../shared/accounts/account-settings.ts';
import type { ServedAccount } from '../../../shared/accounts/merge-accounts.ts';
import type { ApiAccount } from '../../../shared/config/api-accounts.ts';

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
