/** Reads and writes the items of hour counts: one for each hour in which an operation of the account began or failed. */

import * as z from 'zod';
import { DAY_MS } from '../core/time/durations.ts';
import { hourCountsKey } from '../store/keys.ts';
import type { Attribute, Item, Table } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import { type HourCounts, NO_COUNTS } from './hour-counts.ts';
import { countedHours, hourStartMs, type UtcHour } from './utc-hour.ts';

/** Holds what is stored of one hour. The item has revision 0 while it does not exist. */
export interface StoredHour {
  readonly counts: HourCounts;
  readonly revision: number;
}

/** These are the counts of one hour. An hour in which nothing began or failed has no item. */
export interface CountedHour {
  readonly hour: UtcHour;
  readonly counts: HourCounts;
}

export interface HourCountsStore {
  /** Resolves to all counted hours, oldest first. An hour that cannot be read counts as empty. */
  readHours(nowMs: number): Promise<readonly CountedHour[]>;
  readHour(hour: UtcHour): Promise<StoredHour | 'unreadable'>;
  /** Resolves to `refused` when the item has another revision than the one before `next`. */
  writeHour(hour: UtcHour, next: StoredHour): Promise<'applied' | 'refused'>;
}

const count = z.number().int().nonnegative();

const hourItem = z.object({
  kind: z.literal('hour_counts'),
  revision: count,
  started_count: count,
  failed_count: count,
  /** The order is that of the last failures, which a map of the table would not keep. */
  failing: z.array(z.tuple([z.string(), count, z.string()])),
});

export const HOUR_COUNTS_ATTRIBUTES: readonly string[] = Object.keys(hourItem.shape);

/** The item is kept for a day longer than people look at it. */
const KEPT_MS = 2 * DAY_MS;

export function createHourCountsStore(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): HourCountsStore {
  return {
    async readHours(nowMs) {
      const hours = countedHours(nowMs);
      const found = await table.getMany(hours.map((hour) => hourCountsKey(accountId, hour)));
      const items = new Map(found.map((item) => [item.sk, parseHour(item, noteUnreadable)]));
      return hours.map((hour) => {
        const stored = items.get(hourCountsKey(accountId, hour).sk);
        return { hour, counts: stored === undefined || stored === 'unreadable' ? NO_COUNTS : stored.counts };
      });
    },

    async readHour(hour) {
      const item = await table.get(hourCountsKey(accountId, hour));
      return item === undefined ? { counts: NO_COUNTS, revision: 0 } : parseHour(item, noteUnreadable);
    },

    writeHour: (hour, { counts, revision }) =>
      table.update({
        key: hourCountsKey(accountId, hour),
        set: {
          kind: 'hour_counts',
          revision,
          started_count: counts.started_count,
          failed_count: counts.failed_count,
          failing: storedFailing(counts),
          expires_at: Math.floor((hourStartMs(hour) + KEPT_MS) / 1_000),
        },
        condition:
          revision === 1
            ? { kind: 'absent', name: 'revision' }
            : { kind: 'equals', name: 'revision', value: revision - 1 },
      }),
  };
}

function storedFailing({ failing }: HourCounts): Attribute {
  return [...failing].map(([projectId, { failed_count, operation_id }]) => [
    projectId,
    failed_count,
    operation_id,
  ]);
}

function parseHour(item: Item, noteUnreadable: NoteUnreadable): StoredHour | 'unreadable' {
  const { data, error } = hourItem.safeParse(item);
  if (data === undefined) {
    const fields = error.issues.map(({ path }) => path.slice(0, 2).join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return 'unreadable';
  }
  const { revision, started_count, failed_count, failing } = data;
  const entries = failing.map(
    ([id, failedCount, operation_id]) => [id, { failed_count: failedCount, operation_id }] as const,
  );
  return { revision, counts: { started_count, failed_count, failing: new Map(entries) } };
}
