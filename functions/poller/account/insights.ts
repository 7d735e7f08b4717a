/**
 * Adds to the counts of the account what recorded transitions say: how long operations took, and what began and failed
 * in each hour. The values wait in memory, so that one write adds many of them.
 */

import type { CountsItem, StoredCounts } from '../../../shared/insights/counts-item.ts';
import {
  type DurationSample,
  type InsightsStore,
  isInsightDay,
} from '../../../shared/insights/day-insights.ts';
import {
  type CountedChange,
  type HourCountsStore,
  isCountedHour,
} from '../../../shared/insights/hour-counts.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { itemName } from '../../../shared/store/unreadable.ts';

/** Beginnings and failures wait this long at most. A process that ends loses what waits. */
export const CHANGE_WAIT_MS_MAX = MINUTE_MS;

/** Samples of the account wait this long at most. */
export const ACCOUNT_WAIT_MS_MAX = 10 * MINUTE_MS;

/** There can be thousands of projects, so each of their items is written four times a day when little happens. */
export const PROJECT_WAIT_MS_MAX = 6 * HOUR_MS;

/** An item is written once this many samples wait for it: then its write costs little beside those of their records. */
export const WAITING_SAMPLES_MAX = 32;

/**
 * At most this many values wait in all, about twelve megabytes. Every item is written once half of them wait, so this
 * number is reached only while the table refuses writes.
 */
export const WAITING_VALUES_MAX = 50_000;

/** It costs nothing to look whether something is due. */
const LOOK_MS = 10_000;

/** Says how long values wait for an item, and how many. */
interface Patience {
  readonly waitMsMax: number;
  readonly valuesMax: number;
}

const OF_ACCOUNT: Patience = { waitMsMax: ACCOUNT_WAIT_MS_MAX, valuesMax: WAITING_SAMPLES_MAX };
const OF_PROJECT: Patience = { waitMsMax: PROJECT_WAIT_MS_MAX, valuesMax: WAITING_SAMPLES_MAX };
const OF_HOUR: Patience = { waitMsMax: CHANGE_WAIT_MS_MAX, valuesMax: WAITING_VALUES_MAX };

/** Holds what waits to be added to one item. */
interface Group {
  readonly itemOf: () => CountsItem;
  readonly patience: Patience;
  readonly values: unknown[];
  /** The first of the values has waited since this time. */
  readonly sinceMs: number;
}

export interface Insights {
  takeSample(sample: DurationSample): void;
  takeChange(change: CountedChange): void;
  /**
   * Writes the items that are due, one after the other, until the signal aborts. What waits then may be written by the
   * next invocation of a warm process, which looks at once.
   */
  writeRepeatedly(invocation: { readonly telemetry: Telemetry; readonly signal: AbortSignal }): Promise<void>;
}

interface InsightsDeps {
  readonly days: InsightsStore;
  readonly hours: HourCountsStore;
  readonly clock: Clock;
  /** The id of this process stands in each item that it writes, so that it recognises its own write. */
  readonly writer: string;
}

export function createInsights({ days, hours, clock, writer }: InsightsDeps): Insights {
  const groups = new Map<string, Group>();
  let waitingCount = 0;
  let droppedCount = 0;

  const take = (
    place: string,
    itemOf: () => CountsItem,
    patience: Patience,
    value: DurationSample | CountedChange,
  ) => {
    if (waitingCount >= WAITING_VALUES_MAX) {
      droppedCount += 1;
      return;
    }
    const group = groups.get(place) ?? { itemOf, patience, values: [], sinceMs: clock.now() };
    group.values.push(value);
    groups.set(place, group);
    waitingCount += 1;
  };

  const write = async (place: string, group: Group, telemetry: Telemetry) => {
    groups.delete(place);
    const counts = group.itemOf();
    const item = itemName(counts.key);
    const outcome = await addToItem(counts, group.values, writer);
    if (outcome === 'waiting') {
      const newer = groups.get(place)?.values ?? [];
      groups.set(place, { ...group, values: [...group.values, ...newer] });
      telemetry.log('warn', 'insights.not_written', { item });
      return;
    }
    waitingCount -= group.values.length;
    const { lostCount: value_count, reason } = outcome;
    if (value_count > 0) telemetry.log('warn', 'insights.dropped', { item, value_count, reason });
  };

  return {
    takeSample(sample) {
      const { projectId, day } = sample;
      // A walk through the history shows older operations, too.
      if (!isInsightDay(day, clock.now())) return;
      take(day, () => days.itemOf({ projectId: undefined, day }), OF_ACCOUNT, sample);
      take(`${day} ${projectId}`, () => days.itemOf({ projectId, day }), OF_PROJECT, sample);
    },

    takeChange(change) {
      const { hour } = change;
      if (isCountedHour(hour, clock.now())) take(hour, () => hours.itemOf(hour), OF_HOUR, change);
    },

    async writeRepeatedly({ telemetry, signal }) {
      while (!signal.aborted) {
        const nowMs = clock.now();
        const areMany = waitingCount >= WAITING_VALUES_MAX / 2;
        const due = [...groups].filter(([, group]) => areMany || isDue(group, nowMs));
        for (const [place, group] of due) if (!signal.aborted) await write(place, group, telemetry);
        if (droppedCount > 0)
          telemetry.log('warn', 'insights.dropped', { value_count: droppedCount, reason: 'too_many' });
        droppedCount = 0;
        await clock.sleep(LOOK_MS, signal).catch(() => {});
      }
    },
  };
}

function isDue({ values, sinceMs, patience }: Group, nowMs: number): boolean {
  // The clock may have been set back.
  return values.length >= patience.valuesMax || Math.abs(nowMs - sinceMs) >= patience.waitMsMax;
}

/** Two pollers write the same item at the same moment while a lease changes hands, and both succeed within two attempts. */
const ATTEMPTS_MAX = 3;

/** `waiting` says that nothing was written, and that a later attempt may write the values. */
type Outcome = 'waiting' | { readonly lostCount: number; readonly reason: string };

/** What the item shows, or may hide, is not written again. Values whose write arrives only after that look are counted twice. */
async function addToItem(item: CountsItem, values: readonly unknown[], writer: string): Promise<Outcome> {
  const read = () => item.read().catch(() => undefined);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = await read();
    if (stored === undefined) return 'waiting';
    if (stored === 'unreadable') return { lostCount: values.length, reason: 'unreadable' };
    const { counts, leftOutCount } = item.add(stored.counts, values);
    const next = { counts, revision: stored.revision + 1, writer };
    const outcome = await item.write(next).catch(() => undefined);
    const isWritten = outcome === 'applied' || wasWritten(next, await read());
    if (isWritten === 'unknown') return { lostCount: values.length, reason: 'write_unknown' };
    if (isWritten) return { lostCount: leftOutCount, reason: 'too_many_actions' };
  }
  return 'waiting';
}

/**
 * Goes by what the item shows after a write that was refused or got no answer. A refused write may have been made,
 * because the SDK repeats a call by itself. A later write has hidden whether this one was made. Each revision is
 * written once, so of the same one its writer tells whose it is.
 */
function wasWritten(
  next: StoredCounts<unknown>,
  shown: StoredCounts<unknown> | 'unreadable' | undefined,
): boolean | 'unknown' {
  if (typeof shown !== 'object' || shown.revision > next.revision) return 'unknown';
  return shown.revision === next.revision && shown.writer === next.writer;
}
