/** Says how long operations of an action usually take, and how many attempts they usually need. */

import type { UsualDuration } from '../records/journal-entries.ts';
import { MINUTE_MS } from '../records/time.ts';
import {
  type ActionBins,
  type DayInsights,
  type InsightsStore,
  type Quantiles,
  quantilesOf,
} from './day-insights.ts';

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
