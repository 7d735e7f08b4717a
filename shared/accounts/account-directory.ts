/**
 * Knows which accounts a process serves at present: those of its configuration, and those of the table as they were
 * some seconds ago.
 */

import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Table, TablePartitions } from '../store/table.ts';
import { createUnreadableNotes } from '../store/unreadable.ts';
import type { AccountItem } from './account-item.ts';
import { createAccountReader } from './account-store.ts';
import {
  type ConfiguredAccount,
  type MergeRules,
  mergeAccounts,
  type ServedAccount,
} from './merge-accounts.ts';
import { type AccountWatch, watchAccounts } from './watch-accounts.ts';

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
