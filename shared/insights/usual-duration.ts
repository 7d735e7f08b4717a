/** Says how long operations of an action usually take, and how many attempts they usually need. */

import type { UsualDuration } from '../core/journal/journal-entries.ts';
import type { ActionBins, DayInsights } from './day-insights.ts';
import { type Quantiles, quantilesOf } from './distribution.ts';

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
