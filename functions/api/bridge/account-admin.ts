/** Adds, changes and removes accounts while the bridge runs. Each change is checked before it counts. */

import {
  type AccountItem,
  type AccountSettings,
  commandSettingsOf,
} from '../../../shared/accounts/account.ts';
import { type AccountDirectory, mergeAccounts } from '../../../shared/accounts/account-directory.ts';
import {
  type AccountChange,
  type AccountStore,
  ADDED_ACCOUNTS_MAX,
} from '../../../shared/accounts/account-store.ts';
import type { AccountRules } from '../../../shared/config/account-rules.ts';
import type { ApiAccount } from '../../../shared/config/api-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { Problem } from '../serving/problem.ts';
import {
  type AccountCheck,
  type CheckAccount,
  changedSettings,
  differingSettings,
  mustBeTried,
  type WantedSettings,
} from './account-check.ts';
import { type AccountView, keyWarnings, viewOfAccount } from './account-routes.ts';

export interface AccountAdminDeps {
  readonly directory: AccountDirectory<ApiAccount>;
  readonly store: AccountStore;
  readonly rules: AccountRules;
  readonly check: CheckAccount;
  readonly clock: Clock;
  /** Says whether commands of the account wait in line. */
  readonly hasQueuedCommands: (accountId: string) => Promise<boolean>;
  /** Says whether an account of this id was ever polled, whose records were not deleted. */
  readonly hasRecords: (accountId: string) => Promise<boolean>;
}

/** The caller has this name in the item. */
export interface ChangedBy {
  readonly changed_by: string;
}

export interface AdministeredAccount {
  readonly account: AccountView;
  /** It is undefined when nothing had to be tried at the upstream. */
  readonly check?: AccountCheck;
  /** Each sentence names a setting that is allowed and probably a mistake. */
  readonly warnings?: readonly string[];
}

interface Addition {
  readonly lane: number | undefined;
}

/**
 * Judges all of the account but its key, and changes nothing: a key can be put into its secret afterwards. Rejects with
 * `Problem` `account-conflict` when there is another account of this id.
 */
export async function validateAccount(
  deps: AccountAdminDeps,
  settings: AccountSettings,
  { lane }: Addition,
): Promise<void> {
  if ((await findSame(deps, settings, lane)) === undefined) refuseTooMany(deps);
}

/**
 * Adding the same account again changes nothing and is no error. Rejects with `Problem`: `account-conflict` when there
 * is another account of this id, and `account-unusable` when the upstream refuses the key.
 */
export async function addAccount(
  deps: AccountAdminDeps,
  settings: AccountSettings,
  { lane, changed_by }: ChangedBy & Addition,
): Promise<AdministeredAccount> {
  const { account_id } = settings;
  const known = await findSame(deps, settings, lane);
  if (known !== undefined) return { account: await renewedView(deps, known) };
  refuseTooMany(deps);
  const { check, owner } = await deps.check(settings);
  await refuseOthersId(deps, account_id, owner);
  const chosen = { account_id, state: 'active', settings, changed_by, ...(owner && { owner }) } as const;
  const added = await deps.store.add({ ...chosen, ...(lane !== undefined && { lane }) });
  if (added === undefined)
    throw conflict(`There is an account ${account_id} already; others have just added it.`);
  return { account: await renewedView(deps, added), check, ...warningsOf(check) };
}

/**
 * What is recorded under an id goes on when the id comes back, so only the same owner may have it. Anybody may when
 * nothing is recorded. Rejects with `Problem` `account-conflict`.
 */
async function refuseOthersId(
  { store, hasRecords }: AccountAdminDeps,
  accountId: string,
  owner: string | undefined,
): Promise<void> {
  const before = await store.get(accountId);
  const isSameOwner = before?.owner !== undefined && before.owner === owner;
  if (before?.purge === 'done' || (isSameOwner && before.purge === undefined)) return;
  if (before === undefined && !(await hasRecords(accountId))) return;
  const why =
    before?.purge === 'begun'
      ? 'they are being deleted'
      : before?.owner === undefined
        ? 'nobody knows whose they are'
        : owner === undefined
          ? 'the upstream does not say whether this key has the same owner'
          : 'this key belongs to another owner';
  throw conflict(
    `The table holds records of an earlier account ${accountId}, and ${why}. Choose another account_id, or delete the records first: operations-bridge accounts remove ${accountId} --purge.`,
  );
}

/** Resolves to undefined when there is no account of this id. Rejects with `Problem` when there is another one. */
async function findSame(
  deps: AccountAdminDeps,
  settings: AccountSettings,
  lane: number | undefined,
): Promise<AccountItem | undefined> {
  const { account_id } = settings;
  refuseConfigured(deps, account_id, 'it is there already; choose another account_id');
  const known = await deps.store.get(account_id);
  if (known === undefined || known.state === 'removed') return undefined;
  const differing = differingSettings({ ...known.settings, lane: known.lane }, { ...settings, lane });
  if (differing.length === 0) return known;
  throw conflict(
    `There is an account ${account_id} already, and this request differs in ${differing.join(', ')}. Change that account (PATCH, or "operations-bridge accounts set"), or choose another account_id.`,
  );
}

/** What is not given stays. A lane of `null` takes the pin away. */
export interface WantedChange extends Pick<AccountChange, 'lane'> {
  readonly state?: 'active' | 'paused' | undefined;
  readonly settings: WantedSettings;
}

/** Two administrators at once are rare, and the second one of them finds the change of the first. */
const ATTEMPTS_MAX = 3;

/** Rejects with `Problem`, also when a configured account is to be changed other than paused. */
export async function changeAccount(
  deps: AccountAdminDeps,
  accountId: string,
  change: WantedChange & ChangedBy,
): Promise<AdministeredAccount> {
  const isConfigured = deps.directory.get(accountId)?.origin === 'configured';
  if (isConfigured && (change.lane !== undefined || Object.keys(change.settings).length > 0))
    refuseConfigured(deps, accountId, 'its settings are changed there; here it can only be paused');
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = await deps.store.get(accountId);
    const { item, check } = isConfigured
      ? { item: await markConfigured(deps, accountId, { found, change }), check: undefined }
      : await changeAdded(deps, accountId, { found, change });
    if (item === undefined) continue;
    return { account: await renewedView(deps, item), ...(check && { check }), ...warningsOf(check) };
  }
  throw conflict(
    'Others changed this account at the same time. Look at it again before you repeat the change.',
  );
}

/** Judges all of the change but the key, and changes nothing. Resolves to the settings as they would be. */
export async function validateChange(
  deps: AccountAdminDeps,
  accountId: string,
  wanted: WantedSettings,
): Promise<AccountSettings> {
  refuseConfigured(deps, accountId, 'its settings are changed there; here it can only be paused');
  const found = await deps.store.get(accountId);
  if (found?.settings === undefined || found.state === 'removed') throw unknownAccount(accountId);
  return changedSettings(found.settings, wanted, deps.rules);
}

function warningsOf(check: AccountCheck | undefined): Pick<AdministeredAccount, 'warnings'> {
  const warnings = keyWarnings(check?.same_key_as ?? []);
  return warnings.length === 0 ? {} : { warnings };
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

interface ChangedItem {
  /** It is undefined when the item was changed meanwhile. */
  readonly item: AccountItem | undefined;
  readonly check?: AccountCheck | undefined;
}

async function changeAdded(
  { store, rules, check }: AccountAdminDeps,
  accountId: string,
  {
    found,
    change: { settings: wanted, state, lane, changed_by },
  }: { readonly found: AccountItem | undefined; readonly change: WantedChange & ChangedBy },
): Promise<ChangedItem> {
  if (found?.settings === undefined || found.state === 'removed') throw unknownAccount(accountId);
  const settings = changedSettings(found.settings, wanted, rules);
  const tried = mustBeTried(wanted) ? await check(settings) : undefined;
  const owner = tried?.owner;
  const isSame =
    (owner === undefined || owner === found.owner) &&
    differingSettings(settings, found.settings).length === 0 &&
    (state === undefined || state === found.state) &&
    (lane === undefined || (lane ?? undefined) === found.lane);
  if (isSame) return { item: found, check: tried?.check };
  const chosen = {
    ...(state !== undefined && { state }),
    ...(lane !== undefined && { lane }),
    ...(owner !== undefined && { owner }),
  };
  return { item: await store.change(found, { settings, changed_by, ...chosen }), check: tried?.check };
}

/**
 * Removing an account that was removed before is no error. One that was never added and has records, because it was
 * configured once, gets the mark of a removed one, so that its records can be deleted. Rejects with `Problem`.
 */
export async function removeAccount(
  deps: AccountAdminDeps,
  accountId: string,
  { changed_by }: ChangedBy,
): Promise<void> {
  refuseConfigured(deps, accountId, 'it is removed there, with the next deployment');
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = await deps.store.get(accountId);
    if (found === undefined) {
      if (!(await deps.hasRecords(accountId))) throw unknownAccount(accountId);
      const mark = { account_id: accountId, state: 'removed', settings: undefined, changed_by } as const;
      if ((await deps.store.add(mark)) === undefined) continue;
      return renew(deps);
    }
    if (found.state === 'removed') return;
    if (await deps.hasQueuedCommands(accountId))
      throw conflict(
        'Commands of this account wait in line. Wait for them, or withdraw them, and remove it then.',
      );
    if ((await deps.store.change(found, { state: 'removed', changed_by })) === undefined) continue;
    return renew(deps);
  }
  throw conflict('Others changed this account at the same time. Try again.');
}

function refuseConfigured({ directory }: AccountAdminDeps, accountId: string, what: string): void {
  if (directory.get(accountId)?.origin !== 'configured') return;
  throw conflict(`The account ${accountId} comes with the deployment (bridge.config.ts): ${what}.`);
}

function refuseTooMany({ directory }: AccountAdminDeps): void {
  const added = [...directory.all().values()].filter(({ origin }) => origin === 'added');
  if (added.length < ADDED_ACCOUNTS_MAX) return;
  throw conflict(
    `The bridge has ${ADDED_ACCOUNTS_MAX} added accounts, which is the most. Remove one, or use another bridge.`,
  );
}

function conflict(detail: string): Problem {
  return new Problem('account-conflict', { detail });
}

/** An administrator may see every account, so the answer names the one that is missing. */
function unknownAccount(accountId: string): Problem {
  return new Problem('not-found', {
    detail: `There is no account ${accountId}; "operations-bridge accounts list" shows all.`,
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
  if (served === undefined) throw unknownAccount(item.account_id);
  return viewOfAccount(served, item);
}

/** The table may have failed just after the change, and the item says the same. */
function servedBy({ rules }: AccountAdminDeps, item: AccountItem) {
  return mergeAccounts<ApiAccount>([], [item], { rules, settingsOf: commandSettingsOf }).get(item.account_id);
}
