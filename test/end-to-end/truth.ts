/** Converts the simulated service's log to what the checker expects. */

import type { DeliveredEvent } from '../../infra/local/aws/event-bridge/deliveries.ts';
import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';
import { checkHistory, type Violation } from '../simulation/check-history.ts';

export const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export interface Expectations {
  /** Operations that were created before this time are history. */
  readonly bootMs: number;
  /**
   * Every project had been read once at this time. What a project did between the boot and its first reading can be
   * history or news to the bridge, depending on how fast the machine starts it, so neither is owed.
   */
  readonly readyMs: number;
  /** Changes after this time need not be published yet. */
  readonly settledMs: number;
}

export function compareWithTruth(
  truth: readonly GroundTruthOperation[],
  delivered: readonly DeliveredEvent[],
  { bootMs, readyMs, settledMs }: Expectations,
): readonly Violation[] {
  const histories = truth.map(({ operation_id, created_at_ms, states }) => {
    const isSettled = (states.at(-1)?.at_ms ?? 0) < settledMs;
    // A failed operation is watched at a falling rate, so its retry can be published minutes later.
    const isWatchedSlowly = states.some(({ status }) => status === 'failed');
    const isHistory = created_at_ms < Math.floor(bootMs / 1_000) * 1_000;
    const wasOver = TERMINAL_STATUSES.has(states.findLast(({ at_ms }) => at_ms < bootMs)?.status ?? '');
    const isBeforeReady = created_at_ms < Math.ceil(readyMs / 1_000) * 1_000;
    if (isHistory && wasOver) return { operation_id, states, expects: 'nothing' as const };
    if (!isSettled || isWatchedSlowly) return { operation_id, states, expects: 'whatever_was_seen' as const };
    return {
      operation_id,
      states,
      expects: isBeforeReady ? ('final_state_if_told' as const) : ('final_state' as const),
    };
  });
  const events = delivered.map((event) => ({
    detailType: event['detail-type'],
    detail: JSON.stringify(event.detail),
  }));
  return checkHistory(histories, events);
}

/** Counts the operations whose end the bridge owes. A comparison of zero operations would prove nothing. */
export function owedCount(
  truth: readonly GroundTruthOperation[],
  { readyMs, settledMs }: Expectations,
): number {
  return truth.filter(
    ({ created_at_ms, states }) => created_at_ms >= readyMs && (states.at(-1)?.at_ms ?? 0) < settledMs,
  ).length;
}
