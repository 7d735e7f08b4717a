/** Reads all accounts of the bridge with how the poller is doing with each, for the route and the page of administrators. */

import type { AccountDirectory, AccountStanding } from '../../../shared/accounts/account-directory.ts';
import type { AccountReader } from '../../../shared/accounts/account-store.ts';
import type { ApiAccount } from '../../../shared/config/api-accounts.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import { adviceSentence, type LaneStatus, presentLanes } from '../../../shared/lanes/lane-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type AccountView, viewOfAccount } from '../accounts/account-view.ts';
import { decideHealth } from './decide-health.ts';

export interface AccountListDeps {
  readonly directory: AccountDirectory<ApiAccount>;
  readonly store: AccountReader;
  /** Resolves to the status of each account that has one, by account id. */
  readonly statusesOf: (accountIds: readonly string[]) => Promise<ReadonlyMap<string, AccountStatus>>;
  /** Resolves to how each lane of the poller is doing, also of lanes that were taken away. */
  readonly laneStatuses: () => Promise<readonly LaneStatus[]>;
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

export interface ListedLane extends LaneStatus {
  /** It says what to do about the load, and is absent when nothing is to be done. */
  readonly advice_text?: string | undefined;
}

/** Resolves to the lanes that the bridge has now, by number. */
export async function readLanes({
  laneStatuses,
  clock,
}: Pick<AccountListDeps, 'laneStatuses' | 'clock'>): Promise<readonly ListedLane[]> {
  const present = presentLanes(await laneStatuses(), clock.now());
  return present.map((status) => ({ ...status, advice_text: adviceSentence(status) }));
}

/** What waits to be published stands in an index of each account, which a list of many accounts does not read. */
const NOTHING = { count: 0, oldest_at: undefined };

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
  const { healthy, reasons } = decideHealth({ standing, status, unpublished: NOTHING, nowMs });
  return { ...shown, ...(standing.state === 'active' && { healthy }), reasons };
}
