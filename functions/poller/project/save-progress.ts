/** Writes how far a poll has come, after everything that it read is recorded, and only when that is worth a write. */

import type { WalkState } from '../../../shared/core/records/page-walk.ts';
import type { StoredArrivals } from '../../../shared/core/records/project-record.ts';
import { decideProgress, withoutWatermark } from '../../../shared/core/records/walk-progress.ts';
import type { Poll } from './poll.ts';

export async function saveProgress(poll: Poll, walk: WalkState, sweep: WalkState | undefined): Promise<void> {
  const { store, clock, options } = poll.deps;
  const { projectId } = poll.request;
  const progress = decideProgress({
    project: poll.project,
    walk,
    sweep,
    newerRowCount: poll.newerIds.size,
    watermarkStepRows: options.watermarkStepRows,
    arrivals: arrivalsOf(poll),
    listEnd: poll.memory.listEnd?.isProven === true ? poll.memory.listEnd.cursor : undefined,
    nowMs: clock.now(),
  });
  if (progress === undefined) return;
  if ((await store.saveProgress(projectId, progress)) === 'recorded') return;
  const rest = withoutWatermark(progress);
  if (rest !== undefined) await store.saveProgress(projectId, rest);
}

function arrivalsOf({ request, activity }: Poll): StoredArrivals | undefined {
  const known = request.history ?? activity;
  return known && { count: roundTo(known.arrivalCount, 2), observed_ms: roundTo(known.observedMs, 0) };
}

function roundTo(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
