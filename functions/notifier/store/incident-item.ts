/** Reads the item of one incident on one channel, and writes it by compare-and-set. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { alertListOf } from '../../../shared/store/keys.ts';
import { type Attribute, type Item, type Key, LIST_INDEX, type Table } from '../../../shared/store/table.ts';
import { emptyIncident, type Incident, incidentSchema } from '../deciding/messages/incident.ts';
import type { StoredIncident } from '../sending/stored-incident.ts';
import { expiresAt } from './retention.ts';
import { conditionOf, revisionAfter } from './revision.ts';

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
