/** Defines a mute: which alerts people do not want for a time, who asked for that, until when, and why. */

import * as z from 'zod';
import { DAY_MS, isoTimeOf, MINUTE_MS } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { CONFIGURED_MUTES_KEY, MUTES_WORK, muteKey, mutesListOf } from '../store/keys.ts';
import {
  type Item,
  type Key,
  LIST_INDEX,
  LISTED,
  listed,
  type Table,
  type TableIndexes,
} from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';

/** What is muted for longer than a month should be routed to no channel instead, where it can be seen. */
export const MUTE_MS_MAX = 30 * DAY_MS;

/** The notifier's schedule runs once a minute, so a shorter mute could have no effect. */
export const MUTE_MS_MIN = MINUTE_MS;

/** The reason stands in lists and digests, so it is short, and one line. */
export const MUTE_REASON_CHARACTERS_MAX = 300;

/** People lose track of more, and the notifier reads all of them in each of its rounds. */
export const ACTIVE_MUTES_MAX = 100;

/**
 * A mute covers what all its fields fit: the whole account without any of them, a project, an action, an action of a
 * project, or one incident.
 */
const muteScope = z.object({
  project_id: z.string().optional(),
  action: z.string().optional(),
  /** The id is that of `incidentIdOf`. */
  incident_id: z.string().optional(),
});

export const mute = z.object({
  mute_id: z.string(),
  account_id: z.string(),
  ...muteScope.shape,
  /** A person wrote it for people. */
  reason: z.string(),
  /** The caller who muted. */
  client_id: z.string(),
  /** ISO 8601 with milliseconds, by our clock. */
  created_at: z.string(),
  /** ISO 8601 with milliseconds. A mute that was lifted ends when it was lifted. */
  until: z.string(),
  /** The caller who lifted the mute before its end. */
  lifted_by: z.string().optional(),
});

export type MuteScope = Readonly<z.output<typeof muteScope>>;
export type Mute = Readonly<z.output<typeof mute>>;

/** The incident to which a notice belongs decides whether a mute covers the notice. */
export interface Mutable extends MuteScope {
  readonly account_id: string;
}

/** Returns whether the mute covers this at any time. */
export function isInScope(scope: MuteScope & Pick<Mute, 'account_id'>, subject: Mutable): boolean {
  const { account_id, project_id, action, incident_id } = scope;
  return (
    account_id === subject.account_id &&
    (project_id === undefined || project_id === subject.project_id) &&
    (action === undefined || action === subject.action) &&
    (incident_id === undefined || incident_id === subject.incident_id)
  );
}

/** Returns whether the mute has not ended at this time. */
export function isActive({ until }: Mute, nowMs: number): boolean {
  return Date.parse(until) > nowMs;
}

export const MUTE_ATTRIBUTES: readonly string[] = Object.keys(mute.shape);

/** A mute that has ended is kept for this long, so that what it held back says that it was muted. */
const KEPT_AFTER_END_MS = DAY_MS;

export interface NewMute extends MuteScope {
  /** A request that is repeated has the same id, and adds no second mute, even when the first one has ended. */
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
        remove: LISTED,
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

/** It covers all accounts, and all their projects when it lists none. The times are in ISO 8601. */
const configuredMute = z.object({
  project_ids: z.array(z.string()).optional(),
  from: z.string(),
  until: z.string(),
});

export type ConfiguredMute = Readonly<z.output<typeof configuredMute>>;

export interface ConfiguredMutes {
  /** Resolves to the mutes of the configuration with which the notifier runs. An item that cannot be read counts as none. */
  readonly readConfigured: () => Promise<readonly ConfiguredMute[]>;
  /** Writes them unless this process has written the same before. */
  readonly keepConfigured: (mutes: readonly ConfiguredMute[]) => Promise<void>;
}

export function createConfiguredMutes(
  table: Table,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): ConfiguredMutes {
  let written: string | undefined;
  return {
    async readConfigured() {
      const item = await table.get(CONFIGURED_MUTES_KEY);
      const { data, error } = z.array(configuredMute).safeParse(item?.['body'] ?? []);
      if (data === undefined) {
        const fields = error.issues.map(({ path }) => ['body', ...path].join('.'));
        noteUnreadable({ key: CONFIGURED_MUTES_KEY, fields });
      }
      return data ?? [];
    },

    async keepConfigured(mutes) {
      const body = mutes.map(({ project_ids, from, until }) => ({
        ...(project_ids && { project_ids: [...project_ids] }),
        from,
        until,
      }));
      const text = JSON.stringify(body);
      if (text === written) return;
      await table.update({ key: CONFIGURED_MUTES_KEY, set: { body } });
      written = text;
    },
  };
}
