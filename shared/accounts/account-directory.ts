/**
 * Knows which accounts a process serves at present: those of its configuration, and those of the table as they were
 * some seconds ago.
 */

import type { AccountRules } from '../config/account-rules.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Table, TablePartitions } from '../store/table.ts';
import { createUnreadableNotes } from '../store/unreadable.ts';
import {
  type AccountItem,
  type AccountSettings,
  accountFaults,
  generationOf,
  nextGeneration,
} from './account.ts';
import { type AccountWatch, createAccountReader, watchAccounts } from './account-store.ts';

export interface AccountDirectory<Settings> {
  /**
   * Looks whether the accounts of the table have changed. It does not reject: the accounts that were known before, and
   * the configured ones in any case, are served on.
   */
  refresh(): Promise<void>;
  /** The next refresh reads the table, because this process has changed it. */
  forget(): void;
  /** Returns the account as it was at the last refresh, and before the first one if it is configured. */
  get(accountId: string): ServedAccount<Settings> | undefined;
  /** The keys are account ids. The map is another one after each change. */
  all(): ReadonlyMap<string, ServedAccount<Settings>>;
}

/** Says whether an account may reach the upstream, and since when. */
export type AccountStanding = Pick<ServedAccount<unknown>, 'state' | 'fault' | 'state_since'>;

/** Returns undefined when there is no such account. */
export type StandingOf = (accountId: string) => AccountStanding | undefined;

interface DirectoryPorts {
  readonly watch: AccountWatch;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** A process needs these of the table, to read accounts. */
interface AccountTable {
  readonly table: Table;
  readonly partitions: TablePartitions;
}

interface TablePorts extends AccountTable, Pick<DirectoryPorts, 'clock'> {
  readonly telemetry: Telemetry;
}

/** Builds the directory over the table. */
export function openAccountDirectory<Settings extends ConfiguredAccount>(
  configured: readonly Settings[],
  merge: MergeRules<Settings>,
  ports: TablePorts,
): AccountDirectory<Settings> {
  return createAccountDirectory(configured, merge, { ...ports, watch: openAccountWatch(ports) });
}

/** A process that serves other configured accounts with each invocation keeps the watch, and builds directories on it. */
export function openAccountWatch({ table, partitions, clock, telemetry }: TablePorts): AccountWatch {
  const reader = createAccountReader(table, partitions, createUnreadableNotes(telemetry));
  return watchAccounts(reader, clock, telemetry);
}

/** While the table does not answer, requests wait for it once in this time and not each for itself. */
const RETRY_MS = 5_000;

export function createAccountDirectory<Settings extends ConfiguredAccount>(
  configured: readonly Settings[],
  merge: MergeRules<Settings>,
  { watch, clock, telemetry }: DirectoryPorts,
): AccountDirectory<Settings> {
  let items: readonly AccountItem[] = [];
  let accounts = mergeAccounts(configured, items, merge);
  let retryAtMs = Number.NEGATIVE_INFINITY;
  return {
    async refresh() {
      if (clock.now() < retryAtMs) return;
      try {
        const read = await watch.items();
        if (read === items) return;
        items = read;
        accounts = mergeAccounts(configured, items, merge);
      } catch (error) {
        retryAtMs = clock.now() + RETRY_MS;
        telemetry.log('error', 'accounts.unknown', { reason: toError(error).name });
      }
    },
    forget: () => watch.forget(),
    get: (accountId) => accounts.get(accountId),
    all: () => accounts,
  };
}

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
interface MergeRules<Settings> {
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

export interface PerAccount<Kept> {
  /** Returns undefined when there is no such account. */
  get(accountId: string): Kept | undefined;
}

/**
 * Creates something of an account when it is first asked for, and again when the account's settings have changed.
 * `settingsOf` returns what the account has at present, and undefined when there is no such account. `made` returns what
 * was asked for so far.
 */
export function perAccount<Settings extends object, Kept>(
  settingsOf: (accountId: string) => Settings | undefined,
  create: (settings: Settings) => Kept,
): PerAccount<Kept> & { readonly made: () => readonly Kept[] } {
  const known = new Map<string, { settings: Settings; readonly kept: Kept }>();
  return {
    made: () => [...known.values()].map(({ kept }) => kept),

    get(accountId) {
      const settings = settingsOf(accountId);
      if (settings === undefined) {
        known.delete(accountId);
        return undefined;
      }
      const found = known.get(accountId);
      if (found !== undefined && isSame(found.settings, settings)) {
        found.settings = settings;
        return found.kept;
      }
      const kept = create(settings);
      known.set(accountId, { settings, kept });
      return kept;
    },
  };
}

/** Settings are plain values, and their members have the same order after each read. */
function isSame(a: object, b: object): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
