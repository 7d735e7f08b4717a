/** The simulated service's log as the checker wants it. */

import type { DeliveredEvent } from '../../infra/local/aws/deliveries.ts';
import type { GroundTruthOperation } from '../../infra/local/upstream/ground-truth.ts';
import { checkHistory, type Violation } from '../simulation/check-history.ts';

const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export interface Expectations {
  /** Operations created before are history. */
  readonly bootMs: number;
  /** What changed later than this need not be told yet. */
  readonly settledMs: number;
}

export function compareWithTruth(
  truth: readonly GroundTruthOperation[],
  delivered: readonly DeliveredEvent[],
  { bootMs, settledMs }: Expectations,
): readonly Violation[] {
  const histories = truth.map(({ operation_id, created_at_ms, states }) => {
    const isSettled = (states.at(-1)?.at_ms ?? 0) < settledMs;
    // A retry minutes later: what is watched at a falling rate is told when its turn comes.
    const isWatchedSlowly = states.some(({ status }) => status === 'failed');
    const isHistory = created_at_ms < Math.floor(bootMs / 1_000) * 1_000;
    const wasOver = TERMINAL.has(states.findLast(({ at_ms }) => at_ms < bootMs)?.status ?? '');
    if (isHistory && wasOver) return { operation_id, states, expects: 'nothing' as const };
    if (!isSettled || isWatchedSlowly) return { operation_id, states, expects: 'whatever_was_seen' as const };
    return {
      operation_id,
      states,
      expects: isHistory ? ('final_state_if_told' as const) : ('final_state' as const),
    };
  });
  const events = delivered.map((event) => ({
    detailType: event['detail-type'],
    detail: JSON.stringify(event.detail),
  }));
  return checkHistory(histories, events);
}

/** Operations that the bridge owes an ending, so that a comparison that compares nothing is noticed. */
export function owedCount(
  truth: readonly GroundTruthOperation[],
  { bootMs, settledMs }: Expectations,
): number {
  return truth.filter(
    ({ created_at_ms, states }) => created_at_ms >= bootMs && (states.at(-1)?.at_ms ?? 0) < settledMs,
  ).length;
}
