/** Decides what progress one poll has earned: how far the project's list is read, and where an unfinished walk goes on. */

import { WATERMARK_LAG_MS_MAX } from '../../../shared/core/records/history.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Progress, StoredArrivals } from '../../../shared/core/records/reading-progress.ts';
import {
  type EndedOperation,
  isSameRecordedAbove,
  joinRecordedAbove,
} from '../../../shared/core/records/recorded-above.ts';
import { epochMsOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { resumePoint, UNKNOWN_HEAD } from './resume-point.ts';
import type { WalkState } from './walk-state.ts';

export interface PollOutcome {
  /** This record was stored before the poll. It is undefined when nothing was stored. */
  readonly project: ProjectRecord | undefined;
  readonly walk: WalkState;
  /** It is undefined when no sweep was due. */
  readonly sweep: WalkState | undefined;
  /** This many rows are newer than the stored watermark. */
  readonly newerRowCount: number;
  /**
   * The watermark moves once this many newer rows were seen, because a write per walk would double the cost of a
   * quiet account.
   */
  readonly watermarkStepRows: number;
  readonly arrivals: StoredArrivals | undefined;
  /** Nothing can appear behind this cursor any more. It is written along with a watermark. */
  readonly listEnd: string | undefined;
  /**
   * The newest operation whose end is recorded, of a project that cannot be read any more, was created at this time.
   * It is `null` when the table has none, and undefined when the project can be read or that operation is unknown.
   */
  readonly newestRecorded: Timestamp | null | undefined;
  /** Operations that this poll has met and that are recorded and not open. */
  readonly ended: readonly EndedOperation[];
  readonly nowMs: number;
}

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
function orderProgress({ project, walk }: PollOutcome): Progress {
  const isKnown = project?.is_unordered === true;
  if (walk.hasMetDisorder) return isKnown ? {} : { isUnordered: true };
  const isWhole = walk.outcome === 'complete' && walk.goal.resume === undefined;
  return isKnown && isWhole ? { isUnordered: null } : {};
}

/**
 * Derives how far the project was recorded, where no watermark says it. An unordered list is recorded up to the
 * newest row that was there when its last complete walk began. Before its first complete walk it is recorded up to
 * where its rows were in order.
 */
function reachProgress({ project, walk, newestRecorded }: PollOutcome, { watermark }: Progress): Progress {
  const known = project?.recorded_until;
  if (watermark !== undefined) return known === undefined ? {} : { recordedUntil: null };
  if (walk.isUnordered) {
    const first =
      walk.hasMetDisorder && project?.is_unordered !== true
        ? (project?.watermark ?? UNKNOWN_HEAD)
        : undefined;
    const reached = (walk.outcome === 'complete' ? walk.newest : undefined) ?? known ?? first;
    const isNews = reached !== undefined && (known === undefined || reached > known);
    return isNews ? { recordedUntil: reached } : {};
  }
  return newestRecorded === undefined ? {} : noteNewest(project, newestRecorded);
}

/** Notes the operations of an unordered list that are recorded above `recorded_until`. History is never published, so it needs no note. */
function aboveProgress(
  { project, walk, ended }: PollOutcome,
  { watermark }: Progress,
  { recordedUntil }: Progress,
): Progress {
  const known = project?.recorded_above;
  if (watermark !== undefined) return known === undefined ? {} : { recordedAbove: null };
  if (!walk.isUnordered) return {};
  const { newsSince } = walk.goal;
  const news = ended.filter(({ createdAt }) => newsSince === undefined || createdAt >= newsSince);
  const until = recordedUntil ?? project?.recorded_until ?? UNKNOWN_HEAD;
  const above = joinRecordedAbove(known ?? {}, news, until);
  return isSameRecordedAbove(known ?? {}, above) ? {} : { recordedAbove: above };
}

/**
 * The table may have forgotten operations of this project, but everything up to the watermark, or up to the head of
 * an interrupted walk, was recorded.
 */
function noteNewest(project: ProjectRecord | undefined, newest: Timestamp | null): Progress {
  const { resume, watermark, recorded_until } = project ?? {};
  // Nothing is known of the rows between the watermark and an interrupted walk.
  if (resume !== undefined) {
    const reached = later(resume.head, newest);
    return resume.newest === reached ? {} : { resume: { ...resume, newest: reached } };
  }
  if (watermark === undefined) return {};
  const reached = later(watermark, newest);
  return recorded_until === reached ? {} : { recordedUntil: reached };
}

function later(time: Timestamp, other: Timestamp | null): Timestamp {
  return other !== null && other > time ? other : time;
}

/** Returns what is left to write when another poller has moved the watermark at least as far. */
export function withoutWatermark(progress: Progress): Progress | undefined {
  const {
    watermark: _watermark,
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
  const { head, isUnordered } = walk;
  const isNewer = head !== undefined && (project?.watermark === undefined || head > project.watermark);
  if (isNewer && !isUnordered && isWorthMoving({ project, walk, ...poll }, head)) {
    // The first walk of a project is deeper than any sweep.
    const isFirst = project?.watermark === undefined;
    const { arrivals, listEnd, nowMs } = poll;
    return {
      watermark: head,
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
  const isNew = resume !== undefined && (resume.cursor !== known?.cursor || resume.head !== known.head);
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
  // A finished sweep is written anyway, and several pages must not be walked again.
  if (sweep?.outcome === 'complete' || walk.pagesRead > 1) return true;
  const lagMs = epochMsOf(head) - epochMsOf(watermark);
  return newerRowCount >= poll.watermarkStepRows || lagMs > WATERMARK_LAG_MS_MAX;
}
