/** Collects what one day's operations took: a distribution of durations and of attempts for each action. */

import { addValues, type Bins } from './distribution.ts';
import type { DurationSample } from './duration-sample.ts';

export interface ActionBins {
  /** Holds durations in milliseconds. */
  readonly durations: Bins;
  readonly attempts: Bins;
}

/** The keys are actions. */
export type DayInsights = ReadonlyMap<string, ActionBins>;

/**
 * One item holds at most this many actions; the public API has about thirty. With every bin of every action in use, the
 * item has 350 kB, and DynamoDB takes 400 KB (`test/insights/day-insights.test.ts`).
 */
export const ACTIONS_MAX = 64;

export interface DayWithSamples {
  readonly insights: DayInsights;
  /** These samples had no place, because the day has `ACTIONS_MAX` other actions. */
  readonly leftOutCount: number;
}

export function withSamples(insights: DayInsights, samples: readonly DurationSample[]): DayWithSamples {
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
  return { insights: next, leftOutCount };
}
