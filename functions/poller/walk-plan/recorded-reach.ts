/**
 * Derives how far a project was recorded where no watermark says it: in an unordered list, and in a list that cannot
 * be read any more.
 */

import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import {
  isSameRecordedAbove,
  joinRecordedAbove,
  type RecordedOperation,
} from '../../../shared/core/records/recorded-above.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import { noteRecorded } from './failing-list.ts';
import type { PollOutcome } from './poll-outcome.ts';
import { UNKNOWN_HEAD } from './resume-point.ts';
import { SWEEP_DEPTH_MS } from './sweep-walk.ts';

/**
 * An unordered list is recorded up to the newest row that was there when its last complete walk began. Before its
 * first complete walk it is recorded up to where its rows were in order.
 */
export function reachProgress(poll: PollOutcome, { watermark }: Progress): Progress {
  const { project, walk, sweep, recorded, nowMs } = poll;
  const known = project?.recorded_until;
  // The sweep shows a disorder that the walk of the same poll has not reached.
  if (sweep?.hasMetDisorder && project?.is_unordered !== true)
    return { recordedUntil: watermark ?? known ?? project?.watermark ?? UNKNOWN_HEAD };
  if (watermark !== undefined) return reachOfWatermark(poll, watermark);
  if (walk.isUnordered) {
    const first =
      walk.hasMetDisorder && project?.is_unordered !== true
        ? (project?.watermark ?? UNKNOWN_HEAD)
        : undefined;
    const reached = (walk.outcome === 'complete' ? walk.newest : undefined) ?? known ?? first;
    const isNews = reached !== undefined && (known === undefined || reached > known);
    return isNews ? { recordedUntil: reached } : {};
  }
  if (isCompleteAndOrdered(poll))
    return isNoteOver(poll) && known !== undefined ? { recordedUntil: null } : {};
  if (project === undefined || recorded === undefined) return {};
  return noteRecorded({ project, walk, nowMs }, recorded);
}

/**
 * A walk that goes on earns the head of its beginning, which may be weeks ago when the list could not be read meanwhile. What began after
 * that is unread, although it is old: so what was looked up while the table still had it stays known until the next complete walk.
 */
function reachOfWatermark(poll: PollOutcome, watermark: Timestamp): Progress {
  const { resume, recorded_until } = poll.project ?? {};
  if (resume?.newest !== undefined && watermark === resume.head)
    return { recordedUntil: later(watermark, resume.newest) };
  return isNoteOver(poll) && recorded_until !== undefined ? { recordedUntil: null } : {};
}

function isCompleteAndOrdered({ project, walk }: PollOutcome): boolean {
  return walk.outcome === 'complete' && !walk.isUnordered && project?.is_unordered !== true;
}

/**
 * What was noted while the list could not be read goes by what the table held then. A complete walk makes it needless, but only
 * a sweep shows all rows that had become visible late before the list failed.
 */
function isNoteOver({ project, sweep, nowMs }: PollOutcome): boolean {
  if (sweep !== undefined) return sweep.outcome === 'complete';
  return nowMs - (project?.swept_at_ms ?? 0) < SWEEP_DEPTH_MS;
}

/**
 * Notes the operations that are recorded above `recorded_until`: those of an unordered list that this poll has met, and
 * those of a list that cannot be read any more. History is never published, so it needs no note.
 */
export function aboveProgress(
  poll: PollOutcome,
  { watermark }: Progress,
  { recordedUntil }: Progress,
): Progress {
  const { project, walk } = poll;
  const known = project?.recorded_above;
  if (watermark !== undefined || isCompleteAndOrdered(poll)) {
    // A walk that goes on after weeks leaves what began after its head to the next complete walk.
    const isNeeded = recordedUntil != null || !isNoteOver(poll);
    return known === undefined || isNeeded ? {} : { recordedAbove: null };
  }
  const met = recordedBeside(poll);
  const { newsSince } = walk.goal;
  const news = met.filter(({ createdAt }) => newsSince === undefined || createdAt >= newsSince);
  const until = recordedUntil ?? project?.recorded_until ?? UNKNOWN_HEAD;
  const above = joinRecordedAbove(known ?? {}, news, until);
  return isSameRecordedAbove(known ?? {}, above) ? {} : { recordedAbove: above };
}

/**
 * In an unordered list, the rows that this poll has met are not all that may be recorded: a process may have crashed before it named
 * its own. So what the table holds counts there, too.
 */
function recordedBeside({ project, walk, ended, recorded = [] }: PollOutcome): readonly RecordedOperation[] {
  const held = project === undefined ? [] : recorded;
  return walk.isUnordered ? [...ended, ...held] : held;
}

function later(time: Timestamp, other: Timestamp | undefined): Timestamp {
  return other !== undefined && other > time ? other : time;
}
