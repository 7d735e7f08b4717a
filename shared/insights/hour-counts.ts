/**
 * Counts the operations of an account that began in one UTC hour and the attempts that failed in it, by project, in
 * one item for each hour.
 */

import * as z from 'zod';
import type { OperationRecord } from '../records/operation-record.ts';
import { DAY_MS, epochMsOf, HOUR_MS, isoTimeOf, normaliseTimestamp } from '../records/time.ts';
import { hourCountsKey } from '../store/keys.ts';
import type { Table } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import { type CountsItem, createCountsItems, writtenFields } from './counts-item.ts';

/** An hour has the form `2026-01-15T12`. */
export type UtcHour = string & { readonly __brand: 'UtcHour' };

/** People look back a day: 23 whole hours, and the one that has begun. */
const COUNTED_HOURS = 24;

/** Throws `RangeError` beyond the calendar. */
export function hourOf(epochMs: number): UtcHour {
  return isoTimeOf(epochMs).slice(0, 13) as UtcHour;
}

/** Both ends are milliseconds since the epoch. */
export interface HourRange {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Returns the hours of the last day, or those of the range that are kept, oldest first. */
function hoursIn(nowMs: number, range: HourRange | undefined): readonly UtcHour[] {
  const hours = Array.from({ length: KEPT_MS / HOUR_MS }, (_, index) => hourOf(nowMs - index * HOUR_MS));
  if (range === undefined) return hours.slice(0, COUNTED_HOURS).toReversed();
  const isWithin = (startMs: number) => startMs < range.untilMs && startMs + HOUR_MS > range.fromMs;
  return hours.filter((hour) => isWithin(hourStartMs(hour))).toReversed();
}

export function isCountedHour(hour: UtcHour, nowMs: number): boolean {
  return hour <= hourOf(nowMs) && hour >= hourOf(nowMs - (COUNTED_HOURS - 1) * HOUR_MS);
}

/** Returns the beginning of the hour, in milliseconds since the epoch. */
export function hourStartMs(hour: UtcHour): number {
  return Date.parse(`${hour}:00:00Z`);
}

interface HourCounts {
  readonly started_count: number;
  /** Counts attempts: an operation that failed twice counts twice. */
  readonly failed_count: number;
  /** The keys are the ids of projects in which an attempt failed. */
  readonly failing: ReadonlyMap<string, ProjectFailures>;
}

interface ProjectFailures {
  readonly failed_count: number;
  /** The operation that failed last. */
  readonly operation_id: string;
}

/** Says what one recorded transition adds to the counts of one hour. */
export interface CountedChange {
  readonly hour: UtcHour;
  readonly projectId: string;
  readonly operationId: string;
  readonly startedCount: number;
  readonly failedCount: number;
}

export const NO_COUNTS: HourCounts = { started_count: 0, failed_count: 0, failing: new Map() };

/**
 * An hour names at most this many projects with failures, which keeps its item under 60 kB. When more projects fail,
 * the failures of the others still count in the sum.
 */
export const FAILING_PROJECTS_MAX = 500;

/** The latest transition of a record adds nothing, one or two changes: its beginning and its failure. */
export function changesOf(record: OperationRecord): readonly CountedChange[] {
  const entry = record.entries.at(-1);
  if (entry?.type !== 'state_changed') return [];
  const { project_id: projectId, operation_id: operationId } = record;
  const change = (time: string, counts: Pick<CountedChange, 'startedCount' | 'failedCount'>) => {
    const at = normaliseTimestamp(time);
    return at === undefined ? [] : [{ hour: hourOf(epochMsOf(at)), projectId, operationId, ...counts }];
  };
  const isFirst = entry.previous_status === null;
  // An operation can be given up without an attempt that counts as failed.
  const hasGivenUp = entry.status === 'error' && entry.previous_status !== 'error';
  const failedCount = Math.max(entry.new_failures, hasGivenUp ? 1 : 0);
  return [
    ...(isFirst ? change(record.created_at, { startedCount: 1, failedCount: 0 }) : []),
    ...(failedCount > 0 ? change(entry.operation_updated_at, { startedCount: 0, failedCount }) : []),
  ];
}

/** The changes are of the same hour as the counts. */
export function withChanges(counts: HourCounts, changes: readonly CountedChange[]): HourCounts {
  const failing = new Map(counts.failing);
  for (const { projectId, operationId, failedCount } of changes) {
    const before = failing.get(projectId);
    if (failedCount === 0 || (before === undefined && failing.size >= FAILING_PROJECTS_MAX)) continue;
    const failed_count = (before?.failed_count ?? 0) + failedCount;
    // The project that failed last stands at the end.
    failing.delete(projectId);
    failing.set(projectId, { failed_count, operation_id: operationId });
  }
  return {
    started_count: counts.started_count + sum(changes.map(({ startedCount }) => startedCount)),
    failed_count: counts.failed_count + sum(changes.map(({ failedCount }) => failedCount)),
    failing,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** These are the counts of one hour. An hour in which nothing began or failed has no item. */
export interface CountedHour {
  readonly hour: UtcHour;
  readonly counts: HourCounts;
}

export interface HourCountsStore {
  /** Resolves to the hours of the last day or of a range, oldest first. An hour that cannot be read counts as empty. */
  readHours(nowMs: number, range?: HourRange): Promise<readonly CountedHour[]>;
  itemOf(hour: UtcHour): CountsItem<HourCounts, CountedChange>;
}

const count = z.number().int().nonnegative();

const hourItem = z.object({
  kind: z.literal('hour_counts'),
  ...writtenFields,
  started_count: count,
  failed_count: count,
  /** The order is that of the last failures, which a map of the table would not keep. */
  failing: z.array(z.tuple([z.string(), count, z.string()])),
});

export const HOUR_COUNTS_ATTRIBUTES: readonly string[] = Object.keys(hourItem.shape);

/** People look back a day, and with a range for as long as the item is kept. */
const KEPT_MS = 2 * DAY_MS;

export function createHourCountsStore(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): HourCountsStore {
  const items = createCountsItems(
    table,
    {
      schema: hourItem,
      empty: NO_COUNTS,
      countsOf: ({ started_count, failed_count, failing }): HourCounts => ({
        started_count,
        failed_count,
        failing: new Map(
          failing.map(([id, failures, operation_id]) => [id, { failed_count: failures, operation_id }]),
        ),
      }),
      fieldsOf: ({ started_count, failed_count, failing }) => ({
        kind: 'hour_counts',
        started_count,
        failed_count,
        failing: [...failing].map(([id, failures]) => [id, failures.failed_count, failures.operation_id]),
      }),
      // Failures of a project that has no place in `failing` count in the sum, so nothing is left out.
      add: (counts, changes: readonly CountedChange[]) => ({
        counts: withChanges(counts, changes),
        leftOutCount: 0,
      }),
    },
    noteUnreadable,
  );
  return {
    async readHours(nowMs, range) {
      const hours = hoursIn(nowMs, range);
      const read = await items.readMany(hours.map((hour) => hourCountsKey(accountId, hour)));
      return hours.map((hour, index) => ({ hour, counts: read[index] ?? NO_COUNTS }));
    },
    itemOf: (hour) => items.itemOf(hourCountsKey(accountId, hour), hourStartMs(hour) + KEPT_MS),
  };
}
