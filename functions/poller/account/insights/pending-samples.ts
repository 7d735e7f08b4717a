/**
 * Holds the samples that are not written yet, by the item into which they go. They are kept in memory only, because a
 * write for each operation that ends would cost half as much as its record.
 */

import { HOUR_MS, MINUTE_MS } from '../../../../shared/core/time/durations.ts';
import type { DurationSample } from '../../../../shared/insights/duration-sample.ts';
import type { InsightsDay } from '../../../../shared/insights/insights-store.ts';
import { isInsightDay } from '../../../../shared/insights/utc-day.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** An item is written once this many samples wait for it: then its write costs little beside those of their records. */
export const WAITING_SAMPLES_MAX = 32;

/** The account's item is written at the latest after this time, and a process that ends loses what waits. */
export const ACCOUNT_WAIT_MS_MAX = 10 * MINUTE_MS;

/** There can be thousands of projects, so each of their items is written four times a day when little happens. */
export const PROJECT_WAIT_MS_MAX = 6 * HOUR_MS;

/** At most this many samples wait in all, about ten megabytes. This number is reached only while the table refuses writes. */
export const PENDING_SAMPLES_MAX = 50_000;

export interface SampleGroup extends InsightsDay {
  readonly samples: readonly DurationSample[];
  /** The first of the samples has waited since this time, by our clock. */
  readonly sinceMs: number;
}

interface WaitingGroup extends InsightsDay {
  readonly samples: DurationSample[];
  sinceMs: number;
}

export interface PendingSamples {
  take(sample: DurationSample): void;
  /** Takes out the samples of the items that are due. */
  takeDue(): readonly SampleGroup[];
  /** Puts samples back that could not be written. */
  putBack(group: SampleGroup): void;
  /** Returns how many samples were dropped since the last call, because too many waited. */
  takeDroppedCount(): number;
}

export function createPendingSamples(clock: Clock): PendingSamples {
  const groups = new Map<string, WaitingGroup>();
  let waitingCount = 0;
  let droppedCount = 0;

  const put = ({ projectId, day, samples, sinceMs }: SampleGroup) => {
    const key = `${day} ${projectId ?? ''}`;
    const group = groups.get(key) ?? { projectId, day, samples: [], sinceMs };
    for (const sample of samples) group.samples.push(sample);
    group.sinceMs = Math.min(group.sinceMs, sinceMs);
    groups.set(key, group);
    waitingCount += samples.length;
  };

  return {
    take(sample) {
      const nowMs = clock.now();
      // A walk through the history shows older operations, too.
      if (!isInsightDay(sample.day, nowMs)) return;
      if (waitingCount >= PENDING_SAMPLES_MAX) {
        droppedCount += 1;
        return;
      }
      const group = { day: sample.day, samples: [sample], sinceMs: nowMs };
      put({ ...group, projectId: undefined });
      put({ ...group, projectId: sample.projectId });
    },

    takeDue() {
      const nowMs = clock.now();
      const due = [...groups].filter(([, group]) => isDue(group, nowMs));
      for (const [key, { samples }] of due) {
        groups.delete(key);
        waitingCount -= samples.length;
      }
      return due.map(([, group]) => group);
    },

    putBack: put,

    takeDroppedCount() {
      const count = droppedCount;
      droppedCount = 0;
      return count;
    },
  };
}

function isDue({ projectId, samples, sinceMs }: SampleGroup, nowMs: number): boolean {
  const waitMsMax = projectId === undefined ? ACCOUNT_WAIT_MS_MAX : PROJECT_WAIT_MS_MAX;
  return samples.length >= WAITING_SAMPLES_MAX || nowMs - sinceMs >= waitMsMax;
}
