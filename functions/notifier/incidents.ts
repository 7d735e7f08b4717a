/** Keeps what each channel remembers of incidents, by compare-and-set. */

import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { alertIncidentKey, alertListOf, alertWorkOf } from '../../shared/store/keys.ts';
import { type Attribute, type Item, type Key, LIST_INDEX, type Table } from '../../shared/store/table.ts';
import { emptyIncident, type Incident, incidentSchema } from './deciding/incident.ts';
import { conditionOf, expiresAt, revisionAfter } from './items.ts';
import type { OlderIncidents } from './older-notices.ts';
import type { IncidentMemory, StoredIncident } from './sending/channel-state.ts';

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
