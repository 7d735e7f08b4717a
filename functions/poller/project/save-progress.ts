/** Writes how far a poll has come, after everything that it read is recorded, and only when that is worth a write. */

import type { WalkState } from '../../../shared/core/records/page-walk.ts';
import type { StoredArrivals } from '../../../shared/core/records/project-record.ts';
import { decideProgress, withoutWatermark } from '../../../shared/core/records/walk-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { Poll } from './poll.ts';
import type { WalkResult } from './walk-operations.ts';

export async function saveProgress(
  poll: Poll,
  { state: walk, failure }: WalkResult,
  sweep: WalkState | undefined,
): Promise<void> {
  const { store, clock, options } = poll.deps;
  const { projectId } = poll.request;
  const progress = decideProgress({
    project: poll.project,
    walk,
    sweep,
    newerRowCount: poll.newerIds.size,
    watermarkStepRows: options.watermarkStepRows,
    arrivals: arrivalsOf(poll),
    newestRecorded: await newestRecorded(poll, walk, failure),
    listEnd: poll.memory.listEnd?.isProven === true ? poll.memory.listEnd.cursor : undefined,
    nowMs: clock.now(),
  });
  if (progress === undefined) return;
  if ((await store.saveProgress(projectId, progress)) === 'recorded') return;
  const rest = withoutWatermark(progress);
  if (rest !== undefined) await store.saveProgress(projectId, rest);
}

/** A single failure passes, and is not worth a query. */
const FAILURES_MIN = 2;

/**
 * A project that cannot be read may stay like that until the table has forgotten its last operations, and the watermark may
 * lag a day behind them. So the newest of them is looked up once, while it is there.
 */
async function newestRecorded(
  { memory, deps, request }: Poll,
  walk: WalkState,
  failure: WalkResult['failure'],
): Promise<Timestamp | undefined> {
  if (failure === 'cancelled') return undefined;
  memory.failureCount = failure === undefined ? 0 : memory.failureCount + 1;
  if (failure === undefined) memory.isReachNoted = false;
  if (memory.failureCount < FAILURES_MIN || memory.isReachNoted || walk.isUnordered) return undefined;
  const newest = await deps.newestRecorded?.(request.projectId);
  memory.isReachNoted = true;
  return newest;
}

function arrivalsOf({ request, activity }: Poll): StoredArrivals | undefined {
  const known = request.history ?? activity;
  return known && { count: roundTo(known.arrivalCount, 2), observed_ms: roundTo(known.observedMs, 0) };
}

function roundTo(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
