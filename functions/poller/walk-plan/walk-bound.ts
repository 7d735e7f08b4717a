/** Decides how far down a walk reads: an earlier walk has dealt with every row below the bound. */

import { earlierBy, normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { WalkGoal, WalkState } from './walk-state.ts';

/** Returns the bound of a walk. It is undefined before the first complete walk, which earns the first watermark. */
export function boundOf(watermark: Timestamp | undefined, depthMs: number): Timestamp | undefined {
  return watermark === undefined ? undefined : earlierBy(watermark, depthMs);
}

/**
 * Says whether the walk deals with a row. An earlier walk has dealt with rows below the bound. A row without a
 * readable time is in reach.
 */
export function isInReach(state: WalkState, createdAt: string): boolean {
  const { bound } = state.goal;
  const time = normaliseTimestamp(createdAt);
  return state.isUnordered || bound === undefined || time === undefined || time >= bound;
}

export function withBound(goal: WalkGoal, head: Timestamp | undefined): WalkGoal {
  if (goal.bound !== undefined || goal.depthMs === undefined || head === undefined) return goal;
  const deep = earlierBy(head, goal.depthMs);
  return { ...goal, bound: goal.newsSince !== undefined && goal.newsSince < deep ? goal.newsSince : deep };
}

/**
 * The bound of the phase is passed once a page's last row is older. The head part of a resumed walk ends at the head of
 * the interrupted one: the watermark will stay at that head, so the next walk reads everything above it again.
 */
export function isPast(state: WalkState, times: readonly (Timestamp | undefined)[]): boolean {
  const phaseBound = isHeadOfResumed(state) ? state.goal.resume?.head : state.goal.bound;
  const last = times.findLast((time) => time !== undefined);
  if (phaseBound === undefined || last === undefined || state.isUnordered) return false;
  return last < phaseBound;
}

export function isHeadOfResumed({ phase, goal }: WalkState): boolean {
  return phase === 'head' && goal.resume !== undefined;
}
