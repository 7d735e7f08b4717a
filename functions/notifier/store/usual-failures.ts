/** Reads how often operations of an account usually fail, so that an alert can say whether it is unusual that many do. */

import { HOUR_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { DayInsights } from '../../../shared/insights/day-insights.ts';
import { type CountedHour, createHourCountsStore } from '../../../shared/insights/hour-counts-store.ts';
import { createInsightsStore } from '../../../shared/insights/insights-store.ts';
import { hourOf } from '../../../shared/insights/utc-hour.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { NoteUnreadable } from '../../../shared/store/unreadable.ts';
import { usualFailuresPerMinute } from '../deciding/incidents/service-rule.ts';

/** What is usual changes over hours, and each reading takes nine items. */
const REREAD_MS = 5 * MINUTE_MS;

/** Resolves to failures a minute, and to undefined while too little is known. Rejects when the items cannot be read. */
export type UsualFailures = (accountId: string, action: string) => Promise<number | undefined>;

interface Remembered {
  readonly readAtMs: number;
  readonly days: readonly DayInsights[];
  readonly hours: readonly CountedHour[];
}

/** Remembers what it read for each account. There are as many accounts as the configuration names. */
export function createUsualFailures(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable,
): UsualFailures {
  const remembered = new Map<string, Remembered>();

  async function read(accountId: string): Promise<Remembered> {
    const nowMs = clock.now();
    const counts = createHourCountsStore(table, accountId, noteUnreadable);
    const hours = await Promise.all(
      [hourOf(nowMs - HOUR_MS), hourOf(nowMs)].map(async (hour) => ({
        hour,
        stored: await counts.readHour(hour),
      })),
    );
    return {
      readAtMs: nowMs,
      days: await createInsightsStore(table, accountId, noteUnreadable).readDays(undefined, nowMs),
      hours: hours.flatMap(({ hour, stored }) =>
        stored === 'unreadable' ? [] : [{ hour, counts: stored.counts }],
      ),
    };
  }

  return async (accountId, action) => {
    const nowMs = clock.now();
    const known = remembered.get(accountId);
    const found = known !== undefined && nowMs - known.readAtMs < REREAD_MS ? known : await read(accountId);
    remembered.set(accountId, found);
    return usualFailuresPerMinute(action, found.days, found.hours, found.readAtMs);
  };
}
