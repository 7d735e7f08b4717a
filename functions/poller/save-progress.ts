/** Moves what acknowledges reading: only after everything that was read is recorded, and only when it is worth a write. */

import { resumePoint, type WalkState } from '../../shared/core/page-walk.ts';
import type { StoredArrivals } from '../../shared/core/project-record.ts';
import { epochMsOf } from '../../shared/core/timestamp.ts';
import type { Poll } from './poll.ts';

export async function saveProgress(poll: Poll, walk: WalkState): Promise<void> {
  const { store, clock } = poll.deps;
  const { projectId } = poll.request;
  if (walk.outcome !== 'complete') {
    const resume = resumePoint(walk);
    const isNew = resume !== undefined && resume.cursor !== poll.project?.resume?.cursor;
    if (isNew) await store.saveResumePoint(projectId, resume);
    // A sweep that met its page limit is as deep as sweeps go; another one right away would meet it again.
    if (poll.isSweep && walk.outcome === 'interrupted') await store.markSwept(projectId, clock.now());
    return;
  }
  const sweptAtMs = poll.isSweep ? clock.now() : undefined;
  const isMoved = await moveWatermark(poll, walk, sweptAtMs);
  if (sweptAtMs !== undefined && !isMoved) await store.markSwept(projectId, sweptAtMs);
}

/** To the head of this walk's own first page: anything read one by one may be newer than what the walk has covered. */
async function moveWatermark(poll: Poll, walk: WalkState, sweptAtMs: number | undefined): Promise<boolean> {
  const { head } = walk;
  if (head === undefined || walk.isUnordered || !isWorthMoving(poll, walk)) return false;
  const known = { arrivals: arrivalsOf(poll), sweptAtMs };
  return (await poll.deps.store.advanceWatermark(poll.request.projectId, head, known)) === 'recorded';
}

function arrivalsOf({ request, activity }: Poll): StoredArrivals | undefined {
  const known = request.history ?? activity;
  return known && { count: roundTo(known.arrivalCount, 2), observed_ms: roundTo(known.observedMs, 0) };
}

function roundTo(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** A watermark that lags by a few rows costs nothing: the first page shows them anyway. */
function isWorthMoving({ project, deps, newerIds, isSweep }: Poll, walk: WalkState): boolean {
  const { watermark, resume } = project ?? {};
  if (watermark === undefined || resume !== undefined) return true;
  if (walk.head === undefined || walk.head <= watermark) return false;
  // After a sweep there is a write anyway, and what was long must not be walked again.
  if (isSweep || walk.pagesRead > 1) return true;
  const agedMs = epochMsOf(walk.head) - epochMsOf(watermark);
  return newerIds.size >= deps.options.watermarkStepRows || agedMs > WATERMARK_AGE_MS_MAX;
}

/** A watermark may not fall so far behind that a sweep's depth or the operations kept would not reach it. */
const WATERMARK_AGE_MS_MAX = 24 * 3_600_000;
