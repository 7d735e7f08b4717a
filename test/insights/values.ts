/** Builds what recorded transitions add to the counts of an account, and adds it. */

import type { CountsItem } from '../../shared/insights/counts-item.ts';
import type { DurationSample, UtcDay } from '../../shared/insights/day-insights.ts';
import type { CountedChange, UtcHour } from '../../shared/insights/hour-counts.ts';

export const A_DAY = '2026-01-15' as UtcDay;

export function aSample(fields: Partial<DurationSample> = {}): DurationSample {
  return {
    projectId: 'quiet-pond-12345678',
    action: 'start_compute',
    day: A_DAY,
    durationMs: 900,
    attempts: 1,
    ...fields,
  };
}

/** Returns as many samples as there are durations. */
export function samplesOf(durationsMs: readonly number[], fields: Partial<DurationSample> = {}) {
  return durationsMs.map((durationMs) => aSample({ durationMs, ...fields }));
}

/** At noon of the day, this hour has just ended. */
export const LAST_HOUR = '2026-01-15T11' as UtcHour;

export function aChange(fields: Partial<CountedChange> = {}): CountedChange {
  return {
    hour: LAST_HOUR,
    projectId: 'quiet-pond-12345678',
    operationId: 'op-1',
    startedCount: 0,
    failedCount: 1,
    ...fields,
  };
}

/** Adds values to an item, as the poller does. */
export async function addTo<Value>(
  item: CountsItem<unknown, Value>,
  values: readonly Value[],
): Promise<'applied' | 'refused'> {
  const stored = await item.read();
  if (stored === 'unreadable') throw new Error('The item cannot be read');
  const { counts } = item.add(stored.counts, values);
  return item.write({ counts, revision: stored.revision + 1, writer: 'a-poller' });
}
