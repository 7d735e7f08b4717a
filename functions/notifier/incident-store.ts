/** What each channel remembers of incidents: every change is a compare-and-set, so that notifiers may run side by side. */

import { emptyIncident, type Incident, incidentSchema } from '../../shared/alerts/incident.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { alertIncidentKey, alertListOf, alertWorkOf } from '../../shared/store/keys.ts';
import {
  type Attribute,
  type Item,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../shared/store/table.ts';
import { KEPT_SECONDS } from './notice-store.ts';
import { conditionOf, type Revision, revisionAfter } from './revision.ts';

/** Only the holder of the channel changes an incident; far more tries than a race or two is a fault. */
const WRITE_TRIES_MAX = 50;

/** A minute's reminders: the rest is for the next sweep. */
const REMINDERS_MAX = 100;

export interface StoredIncident {
  readonly key: Key;
  readonly revision: Revision;
  readonly incident: Incident;
  /** What cannot be read is left as it is, for a person to look at. */
  readonly isReadable: boolean;
}

export type IncidentStore = ReturnType<typeof createIncidentStore>;

export function createIncidentStore(
  table: Table,
  indexes: TableIndexes,
  { clock, onUnreadable }: { readonly clock: Clock; readonly onUnreadable: (key: Key) => void },
) {
  return {
    /** By name. An incident that nothing is known of is there as well, empty. */
    async readMany(channel: string, names: Iterable<string>): Promise<ReadonlyMap<string, StoredIncident>> {
      const distinct = [...new Set(names)];
      const keys = distinct.map((name) => alertIncidentKey(channel, name));
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      const bySk = new Map(items.map((item) => [item.sk, item]));
      return new Map(
        distinct.map((name) => {
          const key = alertIncidentKey(channel, name);
          return [name, toStored(key, bySk.get(key.sk))];
        }),
      );
    },

    async change(channel: string, found: StoredIncident, change: (incident: Incident) => Incident) {
      let stored = found;
      for (let attempt = 1; attempt <= WRITE_TRIES_MAX; attempt++) {
        if (!stored.isReadable) return;
        if ((await write(channel, stored, change(stored.incident))) === 'applied') return;
        stored = toStored(stored.key, await table.get(stored.key));
      }
      throw new AppError(
        'incident_contended',
        `An incident on ${channel} changed ${WRITE_TRIES_MAX} times meanwhile`,
      );
    },

    /** Incidents that have been failing for a day since they were last reported. */
    async listReminders(channel: string): Promise<readonly StoredIncident[]> {
      const { keys } = await indexes.query({
        index: LIST_INDEX,
        partition: alertListOf(channel, 'reminders'),
        limit: REMINDERS_MAX,
      });
      const nowIso = new Date(clock.now()).toISOString();
      const due = keys.filter(({ sortKey }) => sortKey <= nowIso).map(({ pk, sk }) => ({ pk, sk }));
      const items = due.length === 0 ? [] : await table.getMany(due);
      return items.map((item) => toStored({ pk: item.pk, sk: item.sk }, item));
    },

    /** Items of an older version in which notices wait. */
    async listOlder(channel: string): Promise<readonly StoredIncident[]> {
      const keys = await table.queryWork({ work: alertWorkOf(channel) });
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      return items.map((item) => toStored({ pk: item.pk, sk: item.sk }, item));
    },

    /** The notices that waited in it have items of their own now. */
    emptyOlder: (channel: string, stored: StoredIncident) =>
      write(channel, stored, { ...stored.incident, pending: [] }, ['work']),
  };

  function toStored(key: Key, item: Item | undefined): StoredIncident {
    const parsed = incidentSchema.safeParse(item === undefined ? emptyIncident : item['body']);
    if (!parsed.success) onUnreadable(key);
    return {
      key,
      revision: item?.['revision'],
      incident: parsed.data ?? emptyIncident,
      isReadable: parsed.success,
    };
  }

  function write(
    channel: string,
    { key, revision }: StoredIncident,
    next: Incident,
    removed: readonly string[] = [],
  ) {
    const { remind_at_ms: remindAtMs } = next;
    const list = {
      [LIST_INDEX.partitionKey]: alertListOf(channel, 'reminders'),
      [LIST_INDEX.sortKey]: new Date(remindAtMs ?? 0).toISOString(),
    };
    return table.update({
      key,
      set: {
        revision: revisionAfter(revision),
        body: next as unknown as Attribute,
        expires_at: Math.floor(clock.now() / 1_000) + KEPT_SECONDS,
        ...(remindAtMs !== undefined && list),
      },
      remove: [...removed, ...(remindAtMs === undefined ? Object.keys(list) : [])],
      ...conditionOf(revision),
    });
  }
}
