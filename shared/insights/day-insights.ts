/**
 * Keeps what operations took, by UTC day: a distribution of durations and of attempts for each action, in one item for
 * each day of an account and of each of its projects. It says how long an action usually takes.
 */

import { DDSketch } from '@datadog/sketches-js';
import * as z from 'zod';
import type { UsualDuration } from '../records/journal-entries.ts';
import type { Operation, OperationRecord } from '../records/operation-record.ts';
import { DAY_MS, epochMsOf, isoTimeOf, MINUTE_MS, normaliseTimestamp } from '../records/time.ts';
import { insightsKey } from '../store/keys.ts';
import type { Table } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';
import { type CountsItem, createCountsItems, writtenFields } from './counts-item.ts';

/** A day has the form `2026-01-15`. */
export type UtcDay = string & { readonly __brand: 'UtcDay' };

/** Insights rest on this many days, the present one included. */
export const INSIGHT_DAYS = 7;

/** Throws `RangeError` beyond the calendar. */
export function dayOf(epochMs: number): UtcDay {
  return isoTimeOf(epochMs).slice(0, 10) as UtcDay;
}

/** Returns the days that insights rest on, oldest first. */
export function insightDays(nowMs: number): readonly UtcDay[] {
  return Array.from({ length: INSIGHT_DAYS }, (_, index) =>
    dayOf(nowMs - (INSIGHT_DAYS - 1 - index) * DAY_MS),
  );
}

/** Says whether insights rest on the day. */
export function isInsightDay(day: UtcDay, nowMs: number): boolean {
  return day <= dayOf(nowMs) && day >= dayOf(nowMs - (INSIGHT_DAYS - 1) * DAY_MS);
}

/** Returns the moment at which a day is over, in milliseconds since the epoch. */
function dayEndMs(day: UtcDay): number {
  return Date.parse(`${day}T00:00:00Z`) + DAY_MS;
}

/** Describes one operation that has ended after it did its work, or gave it up. */
export interface DurationSample {
  readonly projectId: string;
  readonly action: string;
  /** The operation ended on this day, by the upstream's clock. */
  readonly day: UtcDay;
  readonly durationMs: number;
  /** The number of attempts, which is 1 for an operation that succeeded at once. */
  readonly attempts: number;
}

/** These are the ends of operations that ran. A skipped or cancelled one says nothing of how long the work takes. */
const COUNTED_STATUSES: ReadonlySet<string> = new Set(['finished', 'error']);

/**
 * `reading` is the upstream's answer from which the record was made. It knows milliseconds where the two times of the
 * record are in whole seconds. Returns undefined when the operation is not counted (`sampleOfRow`), or when it had ended
 * before this reading already.
 */
export function sampleOf(record: OperationRecord, reading: Operation): DurationSample | undefined {
  if (hasEndedBefore(record)) return undefined;
  return sampleOfRow({ ...record, total_duration_ms: givenDurationMs(record, reading) });
}

type Row = Pick<
  Operation,
  'project_id' | 'action' | 'status' | 'failures_count' | 'created_at' | 'updated_at' | 'total_duration_ms'
>;

/**
 * Returns undefined when the operation is not counted: it has not ended, it was skipped or cancelled, its action has no
 * name, or its times make no sense.
 */
export function sampleOfRow(row: Row): DurationSample | undefined {
  // The table takes no empty name.
  if (!COUNTED_STATUSES.has(row.status) || row.action === '') return undefined;
  const createdAt = normaliseTimestamp(row.created_at);
  const endedAt = normaliseTimestamp(row.updated_at);
  if (createdAt === undefined || endedAt === undefined) return undefined;
  const durationMs = row.total_duration_ms ?? epochMsOf(endedAt) - epochMsOf(createdAt);
  if (durationMs < 0) return undefined;
  return {
    projectId: row.project_id,
    action: row.action,
    day: dayOf(epochMsOf(endedAt)),
    durationMs,
    attempts: row.failures_count + 1,
  };
}

/**
 * An operation that was reopened ends a second time, and it is counted once. The status before each
 * entry counts, because a first end that was recorded silently has no entry.
 */
function hasEndedBefore({ entries }: OperationRecord): boolean {
  return entries.some(
    (entry) => entry.type === 'state_changed' && COUNTED_STATUSES.has(entry.previous_status ?? ''),
  );
}

/** After a conflict, the record was made from a later answer than this reading. */
function givenDurationMs(record: OperationRecord, reading: Operation): number | undefined {
  const isSame = record.status === reading.status && record.updated_at === reading.updated_at;
  return isSame ? reading.total_duration_ms : undefined;
}

/** Counts values by the number of their bin. */
type Bins = Readonly<Record<string, number>>;

/** Describes a distribution of values that are at least 1. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const RELATIVE_ACCURACY = 0.02;

/** Values are kept within these bounds, so that at most 542 bins are ever used. The upper one is 30 days in milliseconds. */
const VALUE_MIN = 1;
export const VALUE_MAX = 30 * 24 * 3_600_000;

const { mapping } = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });

/** The number of the last bin. The first one has the number 0. */
export const BIN_MAX = binOf(VALUE_MAX);

export function addValues(bins: Bins, values: readonly number[]): Bins {
  const added: Record<string, number> = { ...bins };
  for (const value of values) {
    const bin = binOf(value);
    added[bin] = (added[bin] ?? 0) + 1;
  }
  return added;
}

/** Returns the quantiles of all bins together. They are `NaN` when the bins are empty. */
export function quantilesOf(all: readonly Bins[]): Quantiles {
  const sketch = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });
  for (const bins of all) {
    for (const [bin, count] of Object.entries(bins)) sketch.accept(mapping.value(Number(bin)), count);
  }
  const at = (quantile: number) => Math.round(sketch.getValueAtQuantile(quantile));
  return { count: sketch.count, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function binOf(value: number): number {
  return mapping.key(Math.min(Math.max(value, VALUE_MIN), VALUE_MAX));
}

type ActionBins = {
  /** Holds durations in milliseconds. */
  readonly durations: Bins;
  readonly attempts: Bins;
};

/** The keys are actions. */
export type DayInsights = ReadonlyMap<string, ActionBins>;

export const NO_INSIGHTS: DayInsights = new Map();

/**
 * One item holds at most this many actions; the public API has about thirty. With every bin of every action in use, the
 * item has 350 kB, and DynamoDB takes 400 KB (`test/insights/day-insights.test.ts`).
 */
export const ACTIONS_MAX = 64;

/** Samples have no place when the day has `ACTIONS_MAX` other actions. */
export function withSamples(
  insights: DayInsights,
  samples: readonly DurationSample[],
): { readonly counts: DayInsights; readonly leftOutCount: number } {
  const next = new Map(insights);
  let leftOutCount = 0;
  for (const [action, own] of Map.groupBy(samples, (sample) => sample.action)) {
    if (!next.has(action) && next.size >= ACTIONS_MAX) {
      leftOutCount += own.length;
      continue;
    }
    const { durations, attempts } = next.get(action) ?? { durations: {}, attempts: {} };
    next.set(action, {
      durations: addValues(
        durations,
        own.map(({ durationMs }) => durationMs),
      ),
      attempts: addValues(
        attempts,
        own.map((sample) => sample.attempts),
      ),
    });
  }
  return { counts: next, leftOutCount };
}

/** Names one item. `projectId` is undefined for the account as a whole. */
interface InsightsDay {
  readonly projectId: string | undefined;
  readonly day: UtcDay;
}

export interface InsightsStore {
  /** Resolves to the days that insights rest on. A day that does not exist or cannot be read is empty. */
  readDays(projectId: string | undefined, nowMs: number): Promise<readonly DayInsights[]>;
  itemOf(day: InsightsDay): CountsItem<DayInsights, DurationSample>;
}

const storedBins = z.record(z.string().regex(/^\d{1,3}$/), z.number().int().positive());

const insightsItem = z.object({
  kind: z.literal('insights'),
  ...writtenFields,
  actions: z.record(z.string(), z.object({ durations: storedBins, attempts: storedBins })),
});

export const INSIGHTS_ATTRIBUTES: readonly string[] = Object.keys(insightsItem.shape);

/** An item is kept for two days longer than it is looked at, because the clocks of two processes differ. */
const KEPT_MS = 8 * DAY_MS;

export function createInsightsStore(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): InsightsStore {
  const items = createCountsItems(
    table,
    {
      schema: insightsItem,
      empty: NO_INSIGHTS,
      countsOf: ({ actions }): DayInsights => new Map(Object.entries(actions)),
      fieldsOf: (insights) => ({ kind: 'insights', actions: Object.fromEntries(insights) }),
      add: withSamples,
    },
    noteUnreadable,
  );
  return {
    readDays: (projectId, nowMs) =>
      items.readMany(insightDays(nowMs).map((day) => insightsKey(accountId, projectId, day))),
    itemOf: ({ projectId, day }) =>
      items.itemOf(insightsKey(accountId, projectId, day), dayEndMs(day) + KEPT_MS),
  };
}

/** Says it of one action, in one project or in the whole account. */
export interface ActionInsight {
  readonly action: string;
  readonly durationMs: Quantiles;
  readonly attempts: Quantiles;
}

/** From fewer operations than this, nothing is derived: one slow operation would be a twentieth of them. */
export const OPERATIONS_MIN = 20;

/** Returns the actions of these days of which there are enough operations, in the order of their names. */
export function insightsOf(days: readonly DayInsights[]): readonly ActionInsight[] {
  const actions = [...new Set(days.flatMap((day) => [...day.keys()]))].toSorted();
  return actions.flatMap((action) => insightOf(days, action) ?? []);
}

/**
 * Returns what the operations of the project say, and what those of the whole account say when the project has too few
 * of the action. Returns undefined when the account has too few, too.
 */
export function usualDurationOf(
  action: string,
  ofProject: readonly DayInsights[],
  ofAccount: readonly DayInsights[],
): UsualDuration | undefined {
  const own = insightOf(ofProject, action);
  const insight = own ?? insightOf(ofAccount, action);
  if (insight === undefined) return undefined;
  const { count, p50, p95, p99 } = insight.durationMs;
  const basis = own === undefined ? 'account' : 'project';
  return { basis, operation_count: count, p50_ms: p50, p95_ms: p95, p99_ms: p99 };
}

function insightOf(days: readonly DayInsights[], action: string): ActionInsight | undefined {
  const bins = days.flatMap((day): readonly ActionBins[] => {
    const found = day.get(action);
    return found === undefined ? [] : [found];
  });
  const durationMs = quantilesOf(bins.map(({ durations }) => durations));
  if (durationMs.count < OPERATIONS_MIN) return undefined;
  return { action, durationMs, attempts: quantilesOf(bins.map(({ attempts }) => attempts)) };
}

/** What is usual changes over days, and each reading takes seven items of the project and seven of the account. */
const REREAD_MS = 10 * MINUTE_MS;

/** At most this many projects are remembered, with a few kilobytes each. Beyond that, all are read again. */
export const REMEMBERED_MAX = 500;

interface Remembered {
  readonly readAtMs: number;
  readonly days: readonly DayInsights[];
}

/**
 * The function that it returns resolves to undefined when too few operations of the action have ended in seven days.
 * It rejects when the items cannot be read.
 */
export function rememberUsualDurations(
  store: InsightsStore,
  clock: { now(): number },
): (projectId: string, action: string) => Promise<UsualDuration | undefined> {
  const remembered = new Map<string | undefined, Remembered>();

  async function daysOf(projectId: string | undefined): Promise<readonly DayInsights[]> {
    const nowMs = clock.now();
    const known = remembered.get(projectId);
    if (known !== undefined && nowMs - known.readAtMs < REREAD_MS) return known.days;
    const days = await store.readDays(projectId, nowMs);
    if (remembered.size >= REMEMBERED_MAX) remembered.clear();
    remembered.set(projectId, { readAtMs: nowMs, days });
    return days;
  }

  return async (projectId, action) => {
    const [ofProject, ofAccount] = await Promise.all([daysOf(projectId), daysOf(undefined)]);
    return usualDurationOf(action, ofProject, ofAccount);
  };
}
