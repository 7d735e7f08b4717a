/** Keeps mutes in the table. People set and lift them through the API, the console and Slack, and the notifier reads them all. */

import { DAY_MS } from '../../core/time/durations.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { listed } from '../../store/items.ts';
import { MUTES_WORK, muteKey, mutesListOf } from '../../store/keys.ts';
import { type Item, type Key, LIST_INDEX, type Table, type TableIndexes } from '../../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../store/unreadable.ts';
import { ACTIVE_MUTES_MAX, isActive, MUTE_MS_MAX, type Mute, type MuteScope, mute } from './mute.ts';

export const MUTE_ATTRIBUTES: readonly string[] = Object.keys(mute.shape);

/** A mute that has ended is kept for this long, so that what it held back says that it was muted. */
const KEPT_AFTER_END_MS = DAY_MS;

interface NewMute extends MuteScope {
  /** A mute with the id of one that exists is not added a second time, even when that one has ended. */
  readonly mute_id: string;
  readonly reason: string;
  readonly client_id: string;
  /** The mute lasts for this long from now on, at most `MUTE_MS_MAX`. */
  readonly durationMs: number;
}

export interface MuteStore {
  /** Resolves to the mutes of the account that have not ended; the one that ends first comes first. */
  readActive(): Promise<readonly Mute[]>;
  /**
   * Resolves to the mute as it is kept: when there is one with this id already, to that one. Resolves to `too_many` when the account has `ACTIVE_MUTES_MAX` active mutes, and adds nothing then.
   */
  add(asked: NewMute): Promise<Mute | 'too_many'>;
  /** Resolves to an active mute, and to undefined when there is none with this id. */
  read(muteId: string): Promise<Mute | undefined>;
  /** Ends the mute now. Resolves to undefined when there is no active mute with this id. */
  lift(muteId: string, clientId: string): Promise<Mute | undefined>;
}

export interface MuteStorePorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
}

/** Every method rejects when the table does; after a write it is unknown then whether the write was made. */
export function createMuteStore(
  table: Table,
  indexes: TableIndexes,
  accountId: string,
  { clock, noteUnreadable = ignoreUnreadable }: MuteStorePorts,
): MuteStore {
  const find = async (muteId: string): Promise<Mute | undefined> => {
    const item = await table.get(muteKey(accountId, muteId));
    return item === undefined ? undefined : readable([item], noteUnreadable)[0];
  };
  const read = async (muteId: string): Promise<Mute | undefined> => {
    const found = await find(muteId);
    return found !== undefined && isActive(found, clock.now()) ? found : undefined;
  };
  const readActive = async (): Promise<readonly Mute[]> => {
    const after = isoTimeOf(clock.now());
    const partition = mutesListOf(accountId);
    // Two callers at once can exceed the bound a little.
    const limit = 2 * ACTIVE_MUTES_MAX;
    const { keys } = await indexes.query({ index: LIST_INDEX, partition, after, limit });
    const mutes = readable(await readItems(table, keys), noteUnreadable);
    return mutes.filter((one) => isActive(one, clock.now())).toSorted(byEnd);
  };
  return {
    read,
    readActive,

    async add({ durationMs, ...asked }) {
      const known = await find(asked.mute_id);
      if (known !== undefined) return known;
      if ((await readActive()).length >= ACTIVE_MUTES_MAX) return 'too_many';
      const nowMs = clock.now();
      const untilMs = nowMs + Math.min(durationMs, MUTE_MS_MAX);
      const added = {
        ...asked,
        account_id: accountId,
        created_at: isoTimeOf(nowMs),
        until: isoTimeOf(untilMs),
      };
      const result = await table.update({
        key: muteKey(accountId, added.mute_id),
        set: {
          kind: 'mute',
          ...added,
          work: MUTES_WORK,
          ...listed(mutesListOf(accountId), `${added.until}#${added.mute_id}`),
          expires_at: expiresAt(untilMs),
        },
        condition: { kind: 'absent', name: 'mute_id' },
      });
      return result === 'applied' ? added : ((await find(added.mute_id)) ?? added);
    },

    async lift(muteId, clientId) {
      const found = await read(muteId);
      if (found === undefined) return undefined;
      const nowMs = clock.now();
      const change = { until: isoTimeOf(nowMs), lifted_by: clientId };
      const result = await table.update({
        key: muteKey(accountId, muteId),
        set: { ...change, expires_at: expiresAt(nowMs) },
        remove: [LIST_INDEX.partitionKey, LIST_INDEX.sortKey],
        condition: { kind: 'equals', name: 'until', value: found.until },
      });
      return result === 'applied' ? { ...found, ...change } : undefined;
    },
  };
}

/**
 * Reads the mutes of all accounts, with those that ended a short time ago. The index can lag by a moment, so a new
 * mute may be missing.
 */
export async function readMutesOfAllAccounts(
  table: Table,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<readonly Mute[]> {
  const keys = await table.queryWork({ work: MUTES_WORK });
  return readable(await readItems(table, keys), noteUnreadable);
}

async function readItems(table: Table, keys: readonly Key[]): Promise<readonly Item[]> {
  return keys.length === 0 ? [] : table.getMany(keys.map(({ pk, sk }) => ({ pk, sk })));
}

/** Leaves out the items that cannot be read, and notes them: alerts are then sent, and not held back. */
function readable(items: readonly Item[], noteUnreadable: NoteUnreadable): readonly Mute[] {
  return items.flatMap((item) => {
    const { data, error } = mute.safeParse(item);
    if (data !== undefined) return data;
    const fields = error.issues.map(({ path }) => path.join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return [];
  });
}

function byEnd(a: Mute, b: Mute): number {
  return a.until < b.until ? -1 : Number(a.until > b.until);
}

function expiresAt(endMs: number): number {
  return Math.ceil((endMs + KEPT_AFTER_END_MS) / 1_000);
}
