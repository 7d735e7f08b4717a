/** Plans a sweep: a daily walk that reads deeper than the others, with pages that end elsewhere each time (ADR 0003). */

import { DAY_MS } from '../../../shared/core/time/durations.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import { newWalk, type WalkLimits, type WalkState } from './walk-state.ts';

/** A sweep reads seven days below the watermark. */
export const SWEEP_DEPTH_MS = 7 * DAY_MS;

/**
 * A sweep starts at the head of the list, or continues at `cursor`. Its first page has another size each time, so
 * that even in a list that does not change, pages end elsewhere in each sweep.
 */
export function startSweep(
  goal: {
    readonly bound: Timestamp;
    readonly cursor: string | undefined;
    readonly firstPageRows: number;
  },
  limits: WalkLimits,
): WalkState {
  const { bound, cursor, firstPageRows } = goal;
  const limit = cursor === undefined ? firstPageRows : limits.widePageRows;
  return {
    ...newWalk({ bound, resume: undefined }, limits, { cursor, limit }),
    phase: 'tail',
    lastCursor: cursor,
  };
}

/**
 * Returns the number of rows of a sweep's first page. `pageRows` is the most rows that a page of this list is known
 * to hold. The size changes with `sweepNumber` and repeats after all sizes, so that rows that fit on one page share a
 * page in at least one of these sweeps.
 */
export function sweepPageRows(sweepNumber: number, pageRows: number): number {
  const sizes = Math.max(1, pageRows - 1);
  return sizes - (sweepNumber % sizes);
}
