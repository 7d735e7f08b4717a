/** The daily sweep: reads deeper than a walk, with other page ends, for rows that every walk has missed. */

import {
  boundOf,
  SWEEP_DEPTH_MS,
  startSweep,
  sweepPageRows,
  type WalkState,
} from '../../../shared/core/records/page-walk.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { Poll } from './poll.ts';
import { followPages, type WalkResult } from './walk-operations.ts';

/** A sweep that failed is not tried again with every poll: what it looks for is rare, and the walk has read what is new. */
const RETRY_AFTER_MS = 10 * 60_000;

/** Undefined when no sweep is due. A sweep follows a complete walk, so that what is new never waits for it. */
export async function sweepOperations(poll: Poll, walk: WalkState): Promise<WalkResult | undefined> {
  const { project, memory, deps } = poll;
  const bound = project?.sweep?.bound ?? boundOf(project?.watermark, SWEEP_DEPTH_MS);
  const isReady = walk.outcome === 'complete' && !walk.isUnordered;
  if (bound === undefined || !isReady || !isDue(poll)) return undefined;
  const startAt = (cursor: string | undefined) => sweepFrom(poll, walk, { bound, cursor });
  const storedCursor = project?.sweep?.cursor;
  const result = await followPages({ ...poll, isSweeping: true }, startAt(storedCursor), {
    storedCursor,
    restart: () => startAt(undefined),
  });
  memory.sweepFailedAtMs = result.failure === undefined ? undefined : deps.clock.now();
  if (result.failure !== undefined)
    deps.telemetry.log('warn', 'sweep.interrupted', {
      project_id: poll.request.projectId,
      reason: result.failure,
    });
  return result;
}

function isDue({ project, deps, memory }: Poll): boolean {
  const nowMs = deps.clock.now();
  const { swept_at_ms: sweptAtMs = 0 } = project ?? {};
  const { sweepFailedAtMs } = memory;
  const isResting = sweepFailedAtMs !== undefined && Math.abs(nowMs - sweepFailedAtMs) < RETRY_AFTER_MS;
  return !isResting && Math.abs(nowMs - sweptAtMs) >= deps.options.sweepIntervalMs;
}

/** A sweep takes the pages that the walk of this poll has left, and at least one. */
function sweepFrom(
  { project, deps, memory }: Poll,
  walk: WalkState,
  start: { readonly bound: Timestamp; readonly cursor: string | undefined },
): WalkState {
  const { walkLimits } = deps.options;
  const pageRowsMax = memory.pageRowsMax ?? walkLimits.widePageRows;
  const firstPageRows = sweepPageRows(project?.sweep_count ?? 0, pageRowsMax);
  const pagesMax = Math.max(1, walkLimits.pagesMax - walk.pagesRead);
  return startSweep({ ...start, firstPageRows }, { ...walkLimits, pagesMax });
}
