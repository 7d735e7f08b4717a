/**
 * Keeps what each channel remembers, by compare-and-set: its own item, and how the incidents stand that it has
 * reported, with the reminders that are due. Says for all items of the notifier how long each stays in the table.
 */

import * as z from 'zod';
import { pagesSchema } from '../../shared/alerts/channel-apps.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { alertChannelKey, alertIncidentKey, alertListOf, alertWorkOf } from '../../shared/store/keys.ts';
import {
  type Attribute,
  type Condition,
  type Item,
  type Key,
  LIST_INDEX,
  LISTED,
  listed,
  type Table,
  type TableIndexes,
} from '../../shared/store/table.ts';
import type { LastRing } from './channels/channel.ts';
import { emptyIncident, type Incident, incidentSchema, threadSchema } from './deciding/incident.ts';
import { hasJustRung } from './deciding/waking.ts';

/** The failures of one action that healed, for the next digest. */
const healedAction = z.object({
  operation_count: z.number(),
  attempt_count: z.number(),
});

const healed = z.object({
  /** The first of them was noted at this time. */
  since_ms: z.number(),
  /** The keys are actions. */
  by_action: z.record(z.string(), healedAction),
  /** These alerts were not sent, because a person had acknowledged what they are about. */
  acknowledged_count: z.number().optional(),
});

/** The message for which a channel notified people last. What is critical soon after joins it without notifying them again. */
const ring = z.object({
  channel: z.string(),
  ts: z.string(),
  at_ms: z.number(),
  /** These critical notices have joined the message since, each with the name of what it is about. */
  silent: z.array(z.object({ about: z.string(), line: z.string() })),
  /** This number of further notices has joined the message, and is not listed. */
  more_count: z.number(),
});

export type StoredRing = z.infer<typeof ring>;

const message = z.object({
  /**
   * While `sending`, the outcome of the message is not known. With `reported` or `refused` it is known, but it may
   * not have been noted on every notice yet.
   */
  phase: z.enum(['sending', 'reported', 'refused']),
  /** The items of its notices have these sort keys. */
  sks: z.array(z.string()),
  /** The message was planned at this time. */
  at_ms: z.number(),
  thread: threadSchema.optional(),
  reason: z.string().optional(),
});

/** A field that cannot be read counts as unknown, because a damaged item must not silence its channel. */
export const channelItem = z.object({
  /** The notifier that holds the channel may send on it until this time. */
  held_until_ms: z.number().catch(0),
  sent_at_ms: z.array(z.number()).catch([]),
  /** The pause ends at this time, whether the channel asked for it with `Retry-After` or a failure caused it. */
  not_before_ms: z.number().catch(0),
  failures_in_row: z.number().catch(0),
  /** Something has been due since this time without the channel taking a message. */
  waiting_since_ms: z.number().optional().catch(undefined),
  /** The channel answered like this when it last did not take a message. */
  last_reason: z.string().optional().catch(undefined),
  /** This is the `waiting_since_ms` that was reported on the other channels. */
  deaf_reported_ms: z.number().optional().catch(undefined),
  /** The channel refused a larger message. Smaller ones find the notice that is at fault. */
  notices_max: z.number().positive().optional().catch(undefined),
  /** When true, more notices were waiting than the last message could name, so the next invocation looks at once. */
  has_more: z.boolean().optional().catch(undefined),
  message: message.optional().catch(undefined),
  /** People were last interrupted by a message at this time. */
  interrupted_at_ms: z.number().optional().catch(undefined),
  /** After that, the notices of other incidents are gathered for this long. */
  gather_ms: z.number().optional().catch(undefined),
  /** A critical message last went out at this time. */
  critical_at_ms: z.number().optional().catch(undefined),
  ring: ring.optional().catch(undefined),
  /** Lists were last edited at this time. */
  edited_at_ms: z.number().optional().catch(undefined),
  /** These pages are open on a channel that keeps them open until their trouble has ended. */
  pages: pagesSchema.optional().catch(undefined),
  /** These failures ended before they woke people, since the last digest. */
  healed: healed.optional().catch(undefined),
  /** Muted alerts that were stored up to this time stand in a digest. */
  muted_counted_ms: z.number().optional().catch(undefined),
  /** This many operations stood in the last digest. */
  last_digest_count: z.number().optional().catch(undefined),
});

/** Returns the message that rang last on a channel that can join messages. */
export function lastRingOf(
  state: ChannelState | undefined,
  gatherMs: number,
  nowMs: number,
): LastRing | undefined {
  return state?.ring && { ...state.ring, isFresh: hasJustRung(state.ring.at_ms, gatherMs, nowMs) };
}

export type MessageUnderWay = z.infer<typeof message>;

export interface ChannelState extends z.infer<typeof channelItem> {
  readonly revision: Revision;
}

export interface ChannelStates {
  read(channel: string): Promise<ChannelState>;
  /** Resolves to undefined when another notifier has changed the item since it was read. */
  write(channel: string, next: ChannelState): Promise<ChannelState | undefined>;
}

/** An item's revision is a number, and undefined when there is no item. */
type Revision = Attribute | undefined;

export interface StoredIncident {
  readonly key: Key;
  readonly revision: Revision;
  readonly incident: Incident;
  /** When false, the incident cannot be read and is left as it is, for a person to look at. */
  readonly isReadable: boolean;
}

/** The keys are the names of the incidents. */
export type StoredIncidents = ReadonlyMap<string, StoredIncident>;

export interface IncidentMemory {
  /** Resolves to all these incidents. One of which nothing is known is empty. */
  readMany(channel: string, names: Iterable<string>): Promise<StoredIncidents>;
  /** Writes the change. When another writer was faster, the change is applied to what that writer left. */
  change(channel: string, found: StoredIncident, change: (incident: Incident) => Incident): Promise<void>;
}

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
  if (remindAtMs === undefined) return { set: {}, remove: LISTED };
  return { set: listed(alertListOf(channel, 'reminders'), new Date(remindAtMs).toISOString()), remove: [] };
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

/** One sweep takes at most this many reminders, and the next sweep takes the rest. */
const REMINDERS_MAX = 100;

export function createDueReminders(indexes: TableIndexes, clock: Clock, items: IncidentItems): DueReminders {
  return {
    async listReminders(channel) {
      const { keys } = await indexes.query({
        index: LIST_INDEX,
        partition: alertListOf(channel, 'reminders'),
        limit: REMINDERS_MAX,
      });
      const nowIso = new Date(clock.now()).toISOString();
      const due = keys.filter(({ sortKey }) => sortKey <= nowIso);
      return items.readMany(due.map(({ pk, sk }): Key => ({ pk, sk })));
    },
  };
}

export interface DueReminders {
  /** Resolves to the incidents that have been failing for a day since they were last reported. */
  listReminders(channel: string): Promise<readonly StoredIncident[]>;
}
