/** Decides what progress one poll has earned: how far the project's list is read, and where an unfinished walk goes on. */

import { WATERMARK_LAG_MS_MAX } from '../../../shared/core/records/history.ts';
import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import { epochMsOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { PollOutcome } from './poll-outcome.ts';
import { aboveProgress, reachProgress } from './recorded-reach.ts';
import { resumePoint } from './resume-point.ts';

/** Returns undefined when nothing is worth a write. */
export function decideProgress(poll: PollOutcome): Progress | undefined {
  const { walk } = poll;
  const own = walk.outcome === 'complete' ? completedWalk(poll) : interruptedWalk(poll);
  const reach = reachProgress(poll, own);
  const progress = {
    ...own,
    ...sweepProgress(poll),
    ...orderProgress(poll),
    ...reach,
    ...aboveProgress(poll, own, reach),
  };
  return Object.keys(progress).length === 0 ? undefined : progress;
}

/** Disorder is remembered, because the first rows of an unordered list may happen to be in order. */
function orderProgress({ project, walk, sweep }: PollOutcome): Progress {
  const isKnown = project?.is_unordered === true;
  if (walk.hasMetDisorder || sweep?.hasMetDisorder) return isKnown ? {} : { isUnordered: true };
  const isWhole = walk.outcome === 'complete' && walk.goal.resume === undefined;
  return isKnown && isWhole ? { isUnordered: null } : {};
}

/**
 * Returns what is left to write when another poller has moved the watermark at least as far. Its write has removed the resume point, so
 * a stored one belongs to a later walk.
 */
export function withoutWatermark(progress: Progress): Progress | undefined {
  const {
    watermark: _watermark,
    ifWatermark: _ifWatermark,
    resume: _resume,
    arrivals: _arrivals,
    listEnd: _listEnd,
    recordedUntil: _reach,
    recordedAbove: _above,
    ...rest
  } = progress;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** Only a complete walk earns a watermark, which is the head that the list had when the walk began. */
function completedWalk({ project, walk, ...poll }: PollOutcome): Progress {
  const { head, isUnordered, isBoundFalse } = walk;
  const { watermark } = project ?? {};
  const isNewer = head !== undefined && (watermark === undefined || head > watermark || isBoundFalse);
  if (isNewer && !isUnordered && isWorthMoving({ project, walk, ...poll }, head)) {
    // The first walk of a project is deeper than any sweep.
    const isFirst = watermark === undefined;
    const { arrivals, listEnd, nowMs } = poll;
    return {
      watermark: head,
      ...(isBoundFalse && { ifWatermark: watermark }),
      resume: null,
      ...(arrivals && { arrivals }),
      ...(listEnd !== undefined && { listEnd }),
      ...(isFirst && { sweptAtMs: nowMs }),
    };
  }
  return project?.resume === undefined ? {} : { resume: null };
}

function interruptedWalk({ project, walk }: PollOutcome): Progress {
  const resume = resumePoint(walk);
  const known = project?.resume;
  if (resume === undefined) return {};
  const { cursor, head, lowest } = resume;
  const isNew = cursor !== known?.cursor || head !== known.head || lowest !== known.lowest;
  return isNew ? { resume } : {};
}

/** A sweep is done when it has reached its bound, in as many polls as that takes. A failure leaves it where it was. */
function sweepProgress({ project, sweep, nowMs }: PollOutcome): Progress {
  if (sweep === undefined) return {};
  if (sweep.outcome === 'complete')
    return {
      sweptAtMs: nowMs,
      sweepCount: (project?.sweep_count ?? 0) + 1,
      ...(project?.sweep !== undefined && { sweep: null }),
    };
  const { lastCursor, goal } = sweep;
  const isMoved = lastCursor !== undefined && lastCursor !== project?.sweep?.cursor;
  return isMoved && goal.bound !== undefined ? { sweep: { bound: goal.bound, cursor: lastCursor } } : {};
}

/** A watermark that lags by a few rows costs nothing, because the first page shows these rows anyway. */
function isWorthMoving(
  { project, walk, sweep, newerRowCount, ...poll }: PollOutcome,
  head: Timestamp,
): boolean {
  const { watermark, resume, recorded_until } = project ?? {};
  // What `recorded_until` says stops being true with the first operation that is recorded above it.
  if (watermark === undefined || resume !== undefined || recorded_until !== undefined) return true;
  if (walk.isBoundFalse) return true;
  // A finished sweep is written anyway, and several pages must not be walked again.
  if (sweep?.outcome === 'complete' || walk.pagesRead > 1) return true;
  const lagMs = epochMsOf(head) - epochMsOf(watermark);
  return newerRowCount >= poll.watermarkStepRows || lagMs > WATERMARK_LAG_MS_MAX;
}
