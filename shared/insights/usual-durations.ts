/** Answers how long an action usually takes, from items that are read at most every ten minutes. */

import type { UsualDuration } from '../core/journal/journal-entries.ts';
import { MINUTE_MS } from '../core/time/durations.ts';
import type { DayInsights } from './day-insights.ts';
import type { InsightsStore } from './insights-store.ts';
import { usualDurationOf } from './usual-duration.ts';

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
  store: Pick<InsightsStore, 'readDays'>,
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
