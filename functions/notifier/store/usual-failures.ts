/**
 * Reads how often operations of an account usually fail, and remembers the names of projects that alerts are about,
 * because a storm asks for the same ones again and again.
 */

import { HOUR_MS, MINUTE_MS } from '../../../shared/core/time.ts';
import { createInsightsStore, type DayInsights } from '../../../shared/insights/day-insights.ts';
import { type CountedHour, createHourCountsStore, hourOf } from '../../../shared/insights/hour-counts.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { NoteUnreadable } from '../../../shared/store/unreadable.ts';
import { usualFailuresPerMinute } from '../deciding/context.ts';

/** A project that was renamed has its new name in alerts after this time. */
const NAME_REREAD_MS = 10 * 60_000;

/** Beyond this many projects, at about a hundred bytes each, all are read again. */
const REMEMBERED_MAX = 5_000;

type NameOf = (accountId: string, projectId: string) => Promise<string | undefined>;

/** Returns the same function, which reads a name at most once in ten minutes. A name that is not known is read each time. */
export function rememberNames(read: NameOf, clock: Clock): NameOf {
  const known = new Map<string, { readonly name: string; readonly atMs: number }>();
  return async (accountId, projectId) => {
    const key = `${accountId} ${projectId}`;
    const found = known.get(key);
    if (found !== undefined && clock.now() - found.atMs < NAME_REREAD_MS) return found.name;
    const name = await read(accountId, projectId);
    if (name === undefined) return undefined;
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, { name, atMs: clock.now() });
    return name;
  };
}

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
