/**
 * Keeps what each channel remembers of incidents. Every change is a compare-and-set, so that notifiers may run side
 * by side.
 */

import { AppError } from '../../../shared/runtime/errors.ts';
import { alertIncidentKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { IncidentMemory } from '../sending/stored-incident.ts';
import type { IncidentItems } from './incident-item.ts';

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
