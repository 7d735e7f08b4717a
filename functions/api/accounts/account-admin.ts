/** Adds, changes and removes accounts while the bridge runs. Each change is checked before it counts. */

import { isDeepStrictEqual } from 'node:util';
import type { AccountDirectory } from '../../../shared/accounts/account-directory.ts';
import { accountFaults } from '../../../shared/accounts/account-faults.ts';
import type { AccountItem } from '../../../shared/accounts/account-item.ts';
import {
  type AccountSettings,
  accountSettings,
  commandSettingsOf,
} from '../../../shared/accounts/account-settings.ts';
import {
  type AccountChange,
  type AccountStore,
  ADDED_ACCOUNTS_MAX,
} from '../../../shared/accounts/account-store.ts';
import { mergeAccounts } from '../../../shared/accounts/merge-accounts.ts';
import type { AccountRules } from '../../../shared/config/account-rules.ts';
import type { ApiAccount } from '../../../shared/config/api-accounts.ts';
import { invalid, notFound, Problem } from '../serving/problem.ts';
import { type AccountView, viewOfAccount } from './account-view.ts';
import type { AccountCheck, CheckAccount } from './check-account.ts';

export interface AccountAdminDeps {
  readonly directory: AccountDirectory<ApiAccount>;
  readonly store: AccountStore;
  readonly rules: AccountRules;
  readonly check: CheckAccount;
  /** Says whether commands of the account wait in line. */
  readonly hasQueuedCommands: (accountId: string) => Promise<boolean>;
}

/** The caller has this name in the item. */
export interface ChangedBy {
  readonly changed_by: string;
}

export interface AddedAccount {
  readonly account: AccountView;
  /** It is undefined when the account had been added before with the same settings. */
  readonly check?: AccountCheck;
}

/** Throws `Problem` `invalid-request` when a field is wrong, or is not allowed by the deployment. */
export function checkedSettings(input: object, rules: AccountRules): AccountSettings {
  const { data, error } = accountSettings.safeParse(input);
  if (error !== undefined)
    throw invalid(
      error.issues.map(({ path, message }) => ({
        field: ['body', ...path].join('.'),
        reason: message,
      })),
    );
  const faults = accountFaults(data, rules);
  if (faults.length > 0)
    throw invalid(faults.map(({ field, reason }) => ({ field: `body.${field}`, reason })));
  return data;
}

/**
 * Adding the same account again changes nothing and is no error. Rejects with `Problem`: `account-conflict` when there
 * is another account of this id, and `account-unusable` when the upstream refuses the key.
 */
export async function addAccount(
  deps: AccountAdminDeps,
  settings: AccountSettings,
  { lane, changed_by }: ChangedBy & { readonly lane?: number | undefined },
): Promise<AddedAccount> {
  const { account_id } = settings;
  refuseConfigured(deps, account_id, 'it is there already; choose another account_id');
  const known = await deps.store.get(account_id);
  if (known !== undefined && known.state !== 'removed') return repeated(deps, known, { settings, lane });
  refuseTooMany(deps);
  const check = await deps.check(settings);
  const chosen = { account_id, state: 'active', settings, changed_by } as const;
  const added = await deps.store.add({ ...chosen, ...(lane !== undefined && { lane }) });
  if (added === undefined) throw exists(account_id);
  return { account: await renewedView(deps, added), check };
}

async function repeated(
  deps: AccountAdminDeps,
  known: AccountItem,
  { settings, lane }: { readonly settings: AccountSettings; readonly lane: number | undefined },
): Promise<AddedAccount> {
  if (!isDeepStrictEqual([known.settings, known.lane], [settings, lane])) throw exists(known.account_id);
  return { account: await renewedView(deps, known) };
}

/** What is not given stays. A lane of `null` takes the pin away. */
export interface WantedChange extends Pick<AccountChange, 'lane'> {
  readonly state?: 'active' | 'paused' | undefined;
  readonly settings: Partial<AccountSettings>;
}

/** Two administrators at once are rare, and the second one of them finds the change of the first. */
const ATTEMPTS_MAX = 3;

/** Rejects with `Problem`, also when a configured account is to be changed other than paused. */
export async function changeAccount(
  deps: AccountAdminDeps,
  accountId: string,
  change: WantedChange & ChangedBy,
): Promise<AccountView> {
  const isConfigured = deps.directory.get(accountId)?.origin === 'configured';
  if (isConfigured && (change.lane !== undefined || Object.keys(change.settings).length > 0))
    refuseConfigured(deps, accountId, 'its settings are changed there; here it can only be paused');
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = await deps.store.get(accountId);
    const changed = isConfigured
      ? await markConfigured(deps, accountId, { found, change })
      : await changeAdded(deps, found, change);
    if (changed !== undefined) return renewedView(deps, changed);
  }
  throw new Problem('account-conflict', {
    detail: 'Others changed this account at the same time. Look at it again before you repeat the change.',
  });
}

/** Resolves to undefined when the item was changed meanwhile. */
async function markConfigured(
  { store }: AccountAdminDeps,
  account_id: string,
  {
    found,
    change: { state = 'active', changed_by },
  }: { readonly found: AccountItem | undefined; readonly change: WantedChange & ChangedBy },
): Promise<AccountItem | undefined> {
  if (found?.state === state) return found;
  if (found === undefined || found.state === 'removed') return store.add({ account_id, state, changed_by });
  return store.change(found, { state, changed_by });
}

/** Resolves to undefined when the item was changed meanwhile. */
async function changeAdded(
  { store, rules, check }: AccountAdminDeps,
  found: AccountItem | undefined,
  { settings: wanted, state, lane, changed_by }: WantedChange & ChangedBy,
): Promise<AccountItem | undefined> {
  if (found?.settings === undefined || found.state === 'removed') throw notFound();
  const settings = checkedSettings({ ...found.settings, ...wanted }, rules);
  const isOtherKey = (['key_secret_id', 'command_key_secret_id'] as const).some(
    (name) => settings[name] !== found.settings?.[name],
  );
  if (isOtherKey) await check(settings);
  const isSame =
    isDeepStrictEqual(settings, found.settings) &&
    (state === undefined || state === found.state) &&
    (lane === undefined || (lane ?? undefined) === found.lane);
  if (isSame) return found;
  return store.change(found, {
    settings,
    changed_by,
    ...(state !== undefined && { state }),
    ...(lane !== undefined && { lane }),
  });
}

/** Removing an account that was removed before is no error. Rejects with `Problem`. */
export async function removeAccount(
  deps: AccountAdminDeps,
  accountId: string,
  { changed_by }: ChangedBy,
): Promise<void> {
  refuseConfigured(deps, accountId, 'it is removed there, with the next deployment');
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = await deps.store.get(accountId);
    if (found === undefined) throw notFound();
    if (found.state === 'removed') return;
    if (await deps.hasQueuedCommands(accountId))
      throw new Problem('account-conflict', {
        detail: 'Commands of this account wait in line. Wait for them, or withdraw them, and remove it then.',
      });
    if ((await deps.store.change(found, { state: 'removed', changed_by })) === undefined) continue;
    return renew(deps);
  }
  throw new Problem('account-conflict', {
    detail: 'Others changed this account at the same time. Try again.',
  });
}

function refuseConfigured({ directory }: AccountAdminDeps, accountId: string, what: string): void {
  if (directory.get(accountId)?.origin !== 'configured') return;
  throw new Problem('account-conflict', {
    detail: `The account ${accountId} comes with the deployment (bridge.config.ts): ${what}.`,
  });
}

function refuseTooMany({ directory }: AccountAdminDeps): void {
  const added = [...directory.all().values()].filter(({ origin }) => origin === 'added');
  if (added.length < ADDED_ACCOUNTS_MAX) return;
  throw new Problem('account-conflict', {
    detail: `The bridge has ${ADDED_ACCOUNTS_MAX} added accounts, which is the most. Remove one, or use another bridge.`,
  });
}

function exists(accountId: string): Problem {
  return new Problem('account-conflict', {
    detail: `There is an account ${accountId} already, with other settings. Change it, or choose another account_id.`,
  });
}

/** This process sees the change at once, and every other one within seconds. */
async function renew({ directory }: AccountAdminDeps): Promise<void> {
  directory.forget();
  await directory.refresh();
}

async function renewedView(deps: AccountAdminDeps, item: AccountItem): Promise<AccountView> {
  await renew(deps);
  const served = deps.directory.get(item.account_id) ?? servedBy(deps, item);
  if (served === undefined) throw notFound();
  return viewOfAccount(served, item);
}

/** The table may have failed just after the change, and the item says the same. */
function servedBy({ rules }: AccountAdminDeps, item: AccountItem) {
  return mergeAccounts<ApiAccount>([], [item], { rules, settingsOf: commandSettingsOf }).get(item.account_id);
}
