/** Finds the incidents whose next reminder is due, by the list index. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { alertListOf } from '../../../shared/store/keys.ts';
import { type Key, LIST_INDEX, type TableIndexes } from '../../../shared/store/table.ts';
import type { DueReminders } from '../intake/reminders.ts';
import type { IncidentItems } from './incident-item.ts';

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
