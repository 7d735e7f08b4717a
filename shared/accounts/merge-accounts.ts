/** Decides which accounts a function serves: those of its configuration, and those that the table adds. */

import type { AccountRules } from '../config/account-rules.ts';
import { accountFaults } from './account-faults.ts';
import { type AccountItem, generationOf, nextGeneration } from './account-item.ts';
import type { AccountSettings } from './account-settings.ts';

export interface ServedAccount<Settings> {
  readonly settings: Settings;
  /** Only an active account may reach the upstream. The deployment does not allow a refused one any more. */
  readonly state: 'active' | 'paused' | 'refused';
  /** Tokens, cursors and sealed bodies of another generation belong to an earlier life of the account. */
  readonly generation: number;
  /** A configured account came with the deployment and is changed there. */
  readonly origin: 'configured' | 'added';
  /** A person has pinned the account to this lane. */
  readonly lane: number | undefined;
  /** It is there when the state is `refused`. */
  readonly fault?: string;
  /** An administrator has set the state at this time, ISO 8601. */
  readonly state_since?: string;
}

/** A configured account has the settings that its function needs, and may be pinned to a lane. */
export interface ConfiguredAccount {
  readonly account_id: string;
  readonly lane?: number | undefined;
}

/** Gives what a merge needs beside the accounts themselves. */
export interface MergeRules<Settings> {
  readonly rules: AccountRules;
  /** Derives what the function needs from the settings of an added account. */
  readonly settingsOf: (added: AccountSettings) => Settings;
}

/**
 * Returns all accounts by their ids. A configured account needs no item, and an item of the same id can only pause it.
 * An added account whose host or secret the deployment does not allow is refused, whenever and however it was added.
 */
export function mergeAccounts<Settings extends ConfiguredAccount>(
  configured: readonly Settings[],
  items: readonly AccountItem[],
  merge: MergeRules<Settings>,
): ReadonlyMap<string, ServedAccount<Settings>> {
  const itemOf = new Map(items.map((item) => [item.account_id, item]));
  const accounts = new Map<string, ServedAccount<Settings>>();
  for (const item of items) {
    const account = addedAccount(item, merge);
    if (account !== undefined) accounts.set(item.account_id, account);
  }
  for (const settings of configured) {
    const { account_id, lane } = settings;
    const item = itemOf.get(account_id);
    const state = item?.state === 'paused' ? 'paused' : 'active';
    const generation = item?.state === 'removed' ? nextGeneration(item) : generationOf(item);
    accounts.set(account_id, { settings, state, generation, origin: 'configured', lane, ...sinceOf(item) });
  }
  return accounts;
}

/** Returns undefined for an account that was removed, and for an item that only marks a configured account. */
function addedAccount<Settings>(
  item: AccountItem,
  { rules, settingsOf }: MergeRules<Settings>,
): ServedAccount<Settings> | undefined {
  const { account_id, state, settings, lane } = item;
  // An item whose settings name another account would be polled under a wrong name.
  if (settings === undefined || state === 'removed' || settings.account_id !== account_id) return undefined;
  const generation = generationOf(item);
  const account = {
    settings: settingsOf(settings),
    generation,
    origin: 'added',
    lane,
    ...sinceOf(item),
  } as const;
  const [fault] = accountFaults(settings, rules);
  if (fault === undefined) return { ...account, state };
  return { ...account, state: 'refused', fault: `${fault.field} ${fault.reason}` };
}

function sinceOf(item: AccountItem | undefined): Pick<ServedAccount<unknown>, 'state_since'> {
  return item?.state_since === undefined ? {} : { state_since: item.state_since };
}
