/** Reads incident items of versions before 2026-11, in which notices wait. */

import { alertWorkOf } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { OlderIncidents } from '../intake/older-notices.ts';
import type { IncidentItems } from './incident-item.ts';

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
