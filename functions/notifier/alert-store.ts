/** Incidents and channels in the table: every change is a compare-and-set, so that notifiers may run side by side. */

import * as z from 'zod';
import {
  addNotice,
  emptyIncident,
  type Incident,
  incidentSchema,
  noteTold,
  type Thread,
} from '../../shared/alerts/incident.ts';
import { incidentOf, type Notice } from '../../shared/alerts/notice.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { alertChannelKey, alertIncidentKey, alertParkedKey, alertWorkOf } from '../../shared/store/keys.ts';
import type { Item, Key, Table } from '../../shared/store/table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from '../../shared/store/unreadable.ts';

/** Ten messages of a batch and a sender compete for one item at worst; far more tries than that is a fault. */
export const WRITE_TRIES_MAX = 50;

/** Longer than any watch: what was told is known as long as a copy or a retry could come. */
const KEPT_SECONDS = 40 * 86_400;

const incidentItem = z.object({ revision: z.number(), body: incidentSchema });

const channelItem = z.object({
  revision: z.number(),
  /** Whoever holds the channel may send until then. */
  held_until_ms: z.number(),
  sent_at_ms: z.array(z.number()),
  /** What the channel asked for by `Retry-After`, or our own pause after a failure. */
  not_before_ms: z.number(),
  failures_in_row: z.number(),
});

const readableChannel = channelItem.extend({
  held_until_ms: z.number().catch(0),
  sent_at_ms: z.array(z.number()).catch([]),
  not_before_ms: z.number().catch(0),
  failures_in_row: z.number().catch(0),
});

export type ChannelState = z.infer<typeof channelItem>;

export interface StoredIncident {
  readonly key: Key;
  readonly incident: Incident;
}

export type AlertStore = ReturnType<typeof createAlertStore>;

/** An incident that cannot be read keeps what it holds; its new notices stay in the queue, and the others go out. */
export function createAlertStore(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
) {
  /** Undefined: it cannot be read, and is noted. */
  const incidentIn = (item: Item): z.infer<typeof incidentItem> | undefined => {
    const parsed = incidentItem.safeParse(item);
    if (!parsed.success) noteUnreadable(unreadableItem(item, parsed.error));
    return parsed.data;
  };

  return {
    /** Stores the notice for the channel, once. Throws when the incident is full: the queue keeps it meanwhile. */
    async add(channel: string, notice: Notice): Promise<Key | undefined> {
      const key = alertIncidentKey(channel, incidentOf(notice));
      const change = await changeIncident(channel, key, (incident) => addNotice(incident, notice));
      if (change === 'full') {
        throw new AppError(
          'incident_full',
          `Too many untold alerts of one incident on ${channel}; it is tried again`,
        );
      }
      return change === 'known' ? undefined : key;
    },

    noteTold: (channel: string, { key }: StoredIncident, notices: readonly Notice[], thread?: Thread) =>
      changeIncident(channel, key, (incident) => noteTold(incident, notices, { nowMs: clock.now(), thread })),

    /** For a person: what a channel refused for good. It is in the log as well; nothing behind it waits. */
    async park(channel: string, notices: readonly Notice[], reason: string): Promise<void> {
      await table.update({
        key: alertParkedKey(channel, notices[0]?.id ?? ''),
        set: {
          kind: 'parked_alert',
          reason,
          notice_ids: notices.map(({ id }) => id),
          expires_at: Math.floor(clock.now() / 1_000) + KEPT_SECONDS,
        },
      });
    },

    /** The index is late at times: `freshKeys` were written just now. */
    async listUntold(channel: string, freshKeys: readonly Key[]): Promise<readonly StoredIncident[]> {
      const keys = await table.queryWork({ work: alertWorkOf(channel) });
      const distinct = new Map([...keys, ...freshKeys].map((key) => [key.sk, { pk: key.pk, sk: key.sk }]));
      const items = await table.getMany([...distinct.values()]);
      return items
        .flatMap((item) => {
          const incident = incidentIn(item)?.body;
          return incident === undefined ? [] : [{ key: { pk: item.pk, sk: item.sk }, incident }];
        })
        .filter(({ incident }) => incident.pending.length > 0);
    },

    async readChannel(channel: string): Promise<ChannelState> {
      const item = await table.get(alertChannelKey(channel));
      if (item !== undefined) return channelIn(item);
      return { revision: 0, held_until_ms: 0, sent_at_ms: [], not_before_ms: 0, failures_in_row: 0 };
    },

    /** Undefined: somebody else changed it since it was read. */
    async writeChannel(channel: string, next: ChannelState): Promise<ChannelState | undefined> {
      const written = { ...next, revision: next.revision + 1 };
      const result = await table.update({
        key: alertChannelKey(channel),
        set: written,
        condition: unchangedSince(next.revision),
      });
      return result === 'applied' ? written : undefined;
    },
  };

  /** Field by field: whatever else is at fault, a channel whose state cannot be read must not be silent for ever. */
  function channelIn(item: Item): ChannelState {
    const { error } = channelItem.safeParse(item);
    if (error !== undefined) noteUnreadable(unreadableItem(item, error));
    return readableChannel.parse(item);
  }

  async function changeIncident<Other extends string = never>(
    channel: string,
    key: Key,
    change: (incident: Incident) => Incident | Other,
  ): Promise<Incident | Other> {
    for (let attempt = 1; attempt <= WRITE_TRIES_MAX; attempt++) {
      const item = await table.get(key);
      const stored = item === undefined ? { revision: 0, body: emptyIncident } : incidentIn(item);
      if (stored === undefined) throw new UnreadableItemError({ key, fields: ['body'] });
      const { revision, body } = stored;
      const next = change(body);
      if (typeof next === 'string') return next;
      const result = await table.update({
        key,
        set: {
          revision: revision + 1,
          body: next,
          expires_at: Math.floor(clock.now() / 1_000) + KEPT_SECONDS,
          ...(next.pending.length > 0 && { work: alertWorkOf(channel) }),
        },
        ...(next.pending.length === 0 && { remove: ['work'] }),
        condition: unchangedSince(revision),
      });
      if (result === 'applied') return next;
    }
    throw new AppError(
      'incident_contended',
      `An incident on ${channel} changed ${WRITE_TRIES_MAX} times meanwhile`,
    );
  }
}

function unreadableItem({ pk, sk }: Item, error: z.ZodError) {
  return { key: { pk, sk }, fields: error.issues.map(({ path }) => path.join('.')) };
}

function unchangedSince(revision: number) {
  return revision === 0
    ? ({ kind: 'absent', name: 'revision' } as const)
    : ({ kind: 'equals', name: 'revision', value: revision } as const);
}
