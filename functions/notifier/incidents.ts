/**
 * Keeps a channel's own item and what each channel remembers of incidents, by compare-and-set, and says for all items
 * of the notifier how long each stays in the table. Notices that a version before 2026-11 left inside an incident's
 * item are moved into items of their own.
 */

import { subjectOfIncident } from '../../shared/alerts/incidents.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { alertChannelKey, alertIncidentKey, alertListOf, alertWorkOf } from '../../shared/store/keys.ts';
import {
  type Attribute,
  type Condition,
  type Item,
  type Key,
  LIST_INDEX,
  type Table,
} from '../../shared/store/table.ts';
import { emptyIncident, type Incident, incidentSchema } from './deciding/incident.ts';
import { type Notice, noticeSchema } from './deciding/notice.ts';
import {
  type ChannelState,
  type ChannelStates,
  channelItem,
  type IncidentMemory,
  type Revision,
  type StoredIncident,
} from './sending/channel-state.ts';
import type { NoticeInbox } from './store-event.ts';

/**
 * The time is longer than any operation is watched: a reported notice is known for as long as a copy or a retry of it
 * can come.
 */
const KEPT_SECONDS = 40 * 86_400;

/** Returns the value of `expires_at`, in seconds since 1970, for an item that is written now. */
export function expiresAt(clock: Clock): number {
  return Math.floor(clock.now() / 1_000) + KEPT_SECONDS;
}

function revisionAfter(revision: Revision): number {
  return typeof revision === 'number' ? revision + 1 : 1;
}

/**
 * Returns the condition of a write that follows a read of this revision. A revision that cannot be compared may be
 * overwritten, because it would otherwise block its item for good.
 */
function conditionOf(revision: Revision): { readonly condition?: Condition } {
  if (revision === undefined) return { condition: { kind: 'absent', name: 'revision' } };
  const isComparable = typeof revision === 'number' || typeof revision === 'string';
  return isComparable ? { condition: { kind: 'equals', name: 'revision', value: revision } } : {};
}

const FIELDS = channelItem.keyof().options;

export function createChannelStore(table: Table): ChannelStates {
  return {
    async read(channel) {
      const item = await table.get(alertChannelKey(channel));
      return { ...channelItem.parse(item ?? {}), revision: item?.['revision'] };
    },

    async write(channel, next) {
      const revision = revisionAfter(next.revision);
      const result = await table.update({
        key: alertChannelKey(channel),
        set: { ...attributesOf(next), revision },
        remove: FIELDS.filter((name) => next[name] === undefined),
        ...conditionOf(next.revision),
      });
      return result === 'applied' ? { ...next, revision } : undefined;
    },
  };
}

function attributesOf(state: ChannelState) {
  return state as unknown as Record<string, Attribute | undefined>;
}

export interface OlderIncidents {
  /** Resolves to the incidents in whose items notices wait. */
  list(channel: string): Promise<readonly StoredIncident[]>;
  /** Takes the waiting notices out of the incident's item. */
  empty(channel: string, stored: StoredIncident): Promise<void>;
}

export interface OlderNoticesDeps {
  readonly store: { readonly older: OlderIncidents; readonly inbox: NoticeInbox };
  readonly telemetry: Telemetry;
}

export async function moveOlderNotices(
  { store, telemetry }: OlderNoticesDeps,
  channel: string,
): Promise<void> {
  for (const stored of await store.older.list(channel)) {
    if (!stored.isReadable) continue;
    for (const pending of stored.incident.pending) {
      const parsed = noticeSchema.safeParse(pending);
      const notice = parsed.data ?? unreadableNotice(pending, stored.key.sk);
      if (!parsed.success) {
        telemetry.log('error', 'alert.item_unreadable', { pk: stored.key.pk, sk: stored.key.sk });
        telemetry.measure('ItemsUnreadable', 1);
      }
      await store.inbox.add(channel, notice);
    }
    // The write is refused when the older version still runs and has written again. The next sweep moves the rest.
    await store.older.empty(channel, stored);
  }
}

/**
 * Makes a notice that says at least where something happened, because the item's key names account, project and
 * action.
 */
function unreadableNotice(pending: unknown, sk: string): Notice {
  const { account_id, project_id, action } = subjectOfIncident(sk.replace(/^INCIDENT#/, ''));
  const { id } = Object(pending) as { id?: unknown };
  return {
    id: typeof id === 'string' ? id : `unreadable ${sk}`,
    kind: 'unreadable',
    severity: 'warning',
    observed_at: '',
    account_id,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
  };
}

export function createOlderIncidents(table: Table, items: IncidentItems): OlderIncidents {
  return {
    async list(channel) {
      return items.readMany(await table.queryWork({ work: alertWorkOf(channel) }));
    },

    async empty(channel, stored) {
      await items.write(channel, stored, { ...stored.incident, pending: [] }, ['work']);
    },
  };
}

export interface IncidentItems {
  /** Returns an empty incident for an item that is not there. */
  parse(key: Key, item: Item | undefined): StoredIncident;
  readMany(keys: readonly Key[]): Promise<readonly StoredIncident[]>;
  /** `removed` names further attributes that the write takes away. */
  write(
    channel: string,
    found: StoredIncident,
    next: Incident,
    removed?: readonly string[],
  ): ReturnType<Table['update']>;
}

export function createIncidentItems(
  table: Table,
  clock: Clock,
  onUnreadable: (key: Key) => void,
): IncidentItems {
  const parse = (key: Key, item: Item | undefined): StoredIncident => {
    const parsed = incidentSchema.safeParse(item === undefined ? emptyIncident : item['body']);
    if (!parsed.success) onUnreadable(key);
    return {
      key,
      revision: item?.['revision'],
      incident: parsed.data ?? emptyIncident,
      isReadable: parsed.success,
    };
  };
  return {
    parse,

    async readMany(keys) {
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      return items.map((item) => parse({ pk: item.pk, sk: item.sk }, item));
    },

    write(channel, { key, revision }, next, removed = []) {
      const place = reminderPlace(channel, next);
      return table.update({
        key,
        set: {
          revision: revisionAfter(revision),
          body: next as unknown as Attribute,
          expires_at: expiresAt(clock),
          ...place.set,
        },
        remove: [...removed, ...place.remove],
        ...conditionOf(revision),
      });
    },
  };
}

/** Returns the incident's place in the list of reminders, by the time of its next one, as long as it has one. */
function reminderPlace(channel: string, { remind_at_ms: remindAtMs }: Incident) {
  const { partitionKey, sortKey } = LIST_INDEX;
  if (remindAtMs === undefined) return { set: {}, remove: [partitionKey, sortKey] };
  const time = new Date(remindAtMs).toISOString();
  return { set: { [partitionKey]: alertListOf(channel, 'reminders'), [sortKey]: time }, remove: [] };
}

/**
 * Only the holder of the channel changes an incident, so one race or two are normal and this many tries are a fault.
 */
const WRITE_TRIES_MAX = 50;

export function createIncidentMemory(table: Table, items: IncidentItems): IncidentMemory {
  return {
    async readMany(channel, names) {
      const distinct = [...new Set(names)];
      const keys = distinct.map((name) => alertIncidentKey(channel, name));
      const found = keys.length === 0 ? [] : await table.getMany(keys);
      const bySk = new Map(found.map((item) => [item.sk, item]));
      return new Map(
        distinct.map((name) => {
          const key = alertIncidentKey(channel, name);
          return [name, items.parse(key, bySk.get(key.sk))];
        }),
      );
    },

    async change(channel, found, change) {
      let stored = found;
      for (let attempt = 1; attempt <= WRITE_TRIES_MAX; attempt++) {
        if (!stored.isReadable) return;
        if ((await items.write(channel, stored, change(stored.incident))) === 'applied') return;
        stored = items.parse(stored.key, await table.get(stored.key));
      }
      throw new AppError(
        'incident_contended',
        `An incident on ${channel} changed ${WRITE_TRIES_MAX} times meanwhile`,
      );
    },
  };
}
