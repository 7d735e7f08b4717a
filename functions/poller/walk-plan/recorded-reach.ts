/**
 * Derives how far a project was recorded where no watermark says it: in an unordered list, and in a list that cannot
 * be read any more.
 */

import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import { isSameRecordedAbove, joinRecordedAbove } from '../../../shared/core/records/recorded-above.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { PollOutcome } from './poll-outcome.ts';
import { UNKNOWN_HEAD } from './resume-point.ts';

/**
 * An unordered list is recorded up to the newest row that was there when its last complete walk began. Before its
 * first complete walk it is recorded up to where its rows were in order.
 */
export function reachProgress(
  { project, walk, sweep, newestRecorded }: PollOutcome,
  { watermark }: Progress,
): Progress {
  const known = project?.recorded_until;
  // The sweep shows a disorder that the walk of the same poll has not reached.
  if (sweep?.hasMetDisorder && project?.is_unordered !== true)
    return { recordedUntil: watermark ?? known ?? project?.watermark ?? UNKNOWN_HEAD };
  if (watermark !== undefined) return reachOfWatermark(project, watermark);
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

/**
 * A walk that goes on earns the head of its beginning, which may be weeks ago when the list could not be read meanwhile. What began after
 * that is unread, although it is old: so what was looked up while the table still had it stays known until the next complete walk.
 */
function reachOfWatermark(project: ProjectRecord | undefined, watermark: Timestamp): Progress {
  const { resume, recorded_until } = project ?? {};
  if (resume?.newest !== undefined && watermark === resume.head)
    return { recordedUntil: later(watermark, resume.newest) };
  return recorded_until === undefined ? {} : { recordedUntil: null };
}

/**
 * Notes the operations of an unordered list that are recorded above `recorded_until`. History is never published, so
 * it needs no note.
 */
export function aboveProgress(
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
 * an interrupted walk, was recorded. A new process looks up the newest one again, and what was looked up earlier may be forgotten by
 * then: so the later one counts.
 */
function noteNewest(project: ProjectRecord | undefined, newest: Timestamp | null): Progress {
  const { resume, watermark, recorded_until } = project ?? {};
  // Nothing is known of the rows between the watermark and an interrupted walk.
  if (resume !== undefined) {
    const reached = later(later(resume.head, resume.newest), newest);
    return resume.newest === reached ? {} : { resume: { ...resume, newest: reached } };
  }
  if (watermark === undefined) return {};
  const reached = later(later(watermark, recorded_until), newest);
  return recorded_until === reached ? {} : { recordedUntil: reached };
}

function later(time: Timestamp, other: Timestamp | null | undefined): Timestamp {
  return other != null && other > time ? other : time;
}
