/**
 * Keeps accounts in the table: one item each, in one partition that is read as a whole, and a stamp that changes with
 * every change, so that readers need not read the partition again while nothing has changed.
 */

import { isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { ACCOUNTS_PARTITION, ACCOUNTS_STAMP_KEY, accountItemKey } from '../store/keys.ts';
import {
  type Attribute,
  type IndexPosition,
  type Item,
  type Table,
  type TablePartitions,
  type Update,
  updateOnce,
} from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from '../store/unreadable.ts';
import {
  ACCOUNT_ATTRIBUTES,
  type AccountItem,
  accountItem,
  nextGeneration,
  readableAccounts,
} from './account.ts';

export interface AccountReader {
  /** Resolves to all items that can be read, also of removed accounts. */
  list(): Promise<readonly AccountItem[]>;
  /** Resolves to a text that is another one after each change, and to undefined before the first change. */
  stamp(): Promise<string | undefined>;
}

export interface AccountStore extends AccountReader {
  /** Rejects with `UnreadableItemError` when there is an item that cannot be read. */
  get(accountId: string): Promise<AccountItem | undefined>;
  /** Resolves to undefined when there is an account of this id that was not removed. */
  add(account: NewAccount): Promise<AccountItem | undefined>;
  /** Resolves to undefined when the item was changed since it was read. */
  change(found: AccountItem, change: AccountChange): Promise<AccountItem | undefined>;
}

type Chosen = Pick<AccountItem, 'state' | 'settings' | 'lane' | 'owner' | 'purge'>;

/** The caller `changed_by` adds the account. Without settings the item marks a configured account. */
type NewAccount = Chosen & Pick<AccountItem, 'account_id' | 'changed_by'>;

/** What is not given stays. A lane of `null` takes the pin away. */
export type AccountChange = Pick<AccountItem, 'changed_by'> &
  Partial<Pick<Chosen, 'state' | 'settings' | 'owner' | 'purge'>> & { readonly lane?: number | null };

export interface AccountStorePorts {
  readonly clock: Clock;
  /** Returns a text that was never returned before. */
  readonly newId: () => string;
  readonly noteUnreadable?: NoteUnreadable;
}

/**
 * At most this many accounts are added to a bridge. Each process that serves accounts holds all of them, a kilobyte
 * each, and reads them all again when one has changed.
 */
export const ADDED_ACCOUNTS_MAX = 2_000;

/** A page has a megabyte, and the largest item about 15 KB. */
const PAGES_MAX = 40;

/** Only these calls of the table are needed to read. */
export function createAccountReader(
  table: Table,
  partitions: TablePartitions,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): AccountReader {
  return {
    async list() {
      const items: Item[] = [];
      let start: IndexPosition | undefined;
      for (let page = 0; page < PAGES_MAX; page++) {
        const read = await partitions.readPartition({ partition: ACCOUNTS_PARTITION, start });
        items.push(...read.items);
        start = read.next;
        if (start === undefined) return readableAccounts(items, noteUnreadable);
      }
      throw new Error(`There are more than ${items.length} accounts, which is more than a function reads`);
    },
    async stamp() {
      const stamp = (await table.get(ACCOUNTS_STAMP_KEY))?.['stamp'];
      return typeof stamp === 'string' ? stamp : undefined;
    },
  };
}

export function createAccountStore(
  table: Table,
  partitions: TablePartitions,
  { clock, newId, noteUnreadable = ignoreUnreadable }: AccountStorePorts,
): AccountStore {
  const get = async (accountId: string): Promise<AccountItem | undefined> => {
    const item = await table.get(accountItemKey(accountId));
    if (item === undefined) return undefined;
    const [found] = readableAccounts([item], noteUnreadable);
    if (found !== undefined) return found;
    const { error } = accountItem.safeParse(item);
    const fields = error?.issues.map(({ path }) => path.join('.')) ?? [];
    throw new UnreadableItemError({ key: accountItemKey(accountId), fields });
  };
  /** The stamp changes after the item, so that a reader who sees the new stamp finds the new item. */
  const write = async (next: AccountItem, version: number | undefined): Promise<AccountItem | undefined> => {
    const change_id = newId();
    const written = { ...next, change_id };
    if ((await updateOnce(table, updateOf(written, version), ['change_id'])) === 'refused') return undefined;
    await table.update({ key: ACCOUNTS_STAMP_KEY, set: { kind: 'accounts_stamp', stamp: change_id } });
    return written;
  };
  return {
    ...createAccountReader(table, partitions, noteUnreadable),
    get,

    async add(account) {
      const known = await get(account.account_id);
      if (known !== undefined && known.state !== 'removed') return undefined;
      const at = isoTimeOf(clock.now());
      const marks = { added_at: at, added_by: account.changed_by, changed_at: at, state_since: at };
      const life = known && { generation: nextGeneration(known) };
      return write({ ...account, ...marks, ...life, version: (known?.version ?? 0) + 1 }, known?.version);
    },

    async change(found, { lane, ...change }) {
      const { lane: pinned, ...rest } = found;
      const chosen = lane === undefined ? pinned : (lane ?? undefined);
      const at = isoTimeOf(clock.now());
      const isOtherState = change.state !== undefined && change.state !== found.state;
      // Whose the records were, and how they were read, is of no interest once they are gone.
      const { settings: _settings, owner: _owner, ...unowned } = rest;
      const next: AccountItem = {
        ...(change.purge === 'done' ? unowned : rest),
        ...change,
        ...(isOtherState && { state_since: at }),
        ...(chosen !== undefined && { lane: chosen }),
        changed_at: at,
        version: found.version + 1,
      };
      return write(next, found.version);
    },
  };
}

/** The item is written if it still has this version, or still does not exist. */
function updateOf(next: AccountItem, version: number | undefined): Update {
  const fields = next as unknown as Readonly<Record<string, Attribute | undefined>>;
  const gone = ACCOUNT_ATTRIBUTES.filter((name) => fields[name] === undefined);
  return {
    key: accountItemKey(next.account_id),
    set: { kind: 'account_item', ...fields },
    // An item that an earlier version marked as removed had an end.
    remove: [...gone, 'expires_at'],
    condition:
      version === undefined
        ? { kind: 'absent', name: 'version' }
        : { kind: 'equals', name: 'version', value: version },
  };
}

export interface AccountWatch {
  /**
   * Resolves to the items as they were at most `LOOK_MS` ago. While the table cannot be read it resolves to what was
   * read last, and rejects only when nothing was ever read.
   */
  items(): Promise<readonly AccountItem[]>;
  /** The next call of `items` reads the table, because this process has changed it. */
  forget(): void;
}

/** A change is seen within this time. Reading the stamp costs half a read unit, all accounts together. */
export const LOOK_MS = 15_000;

/** A change whose stamp was lost by a crash is seen within this time, because everything is read again. */
const WHOLE_MS = 600_000;

interface Known {
  readonly items: readonly AccountItem[];
  readonly stamp: string | undefined;
  readonly wholeAtMs: number;
}

export function watchAccounts(reader: AccountReader, clock: Clock, telemetry: Telemetry): AccountWatch {
  let known: Known | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<readonly AccountItem[]> | undefined;

  const look = async (): Promise<readonly AccountItem[]> => {
    const nowMs = clock.now();
    try {
      // The stamp is read first: a change that comes between the two reads is then seen at the next look at the latest.
      const stamp = await reader.stamp();
      const isCurrent = known?.stamp === stamp && nowMs - (known?.wholeAtMs ?? 0) < WHOLE_MS;
      if (known === undefined || !isCurrent) known = { items: await reader.list(), stamp, wholeAtMs: nowMs };
      lookedAtMs = nowMs;
      return known.items;
    } catch (error) {
      if (known === undefined) throw error;
      telemetry.log('warn', 'accounts.not_read', { reason: toError(error).name });
      lookedAtMs = nowMs;
      return known.items;
    }
  };
  return {
    async items() {
      if (known !== undefined && clock.now() - lookedAtMs < LOOK_MS) return known.items;
      underWay ??= look().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
    forget() {
      lookedAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
