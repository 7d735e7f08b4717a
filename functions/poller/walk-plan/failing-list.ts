/**
 * Decides what the item of a project says of its recorded operations once the list cannot be read any more. By the
 * time the list can be read again, the table may have forgotten them (ADR 0013).
 */

import { FORGOTTEN_AFTER_MS } from '../../../shared/core/records/history.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Progress, ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import {
  newestLeftOut,
  type RecordedAbove,
  type RecordedOperation,
} from '../../../shared/core/records/recorded-above.ts';
import { earlierBy, secondOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { resumePoint, UNKNOWN_HEAD } from './resume-point.ts';
import { SWEEP_DEPTH_MS } from './sweep-walk.ts';
import type { WalkState } from './walk-state.ts';

/** These operations have to be named, because nothing else says that they are recorded. */
export interface WantedRecords {
  /** They were created after this time. When it is undefined, all are wanted. */
  readonly after: Timestamp | undefined;
  /**
   * An interrupted walk has recorded everything between these two, so no operation there needs a name. It is undefined in
   * an unordered list, where such a walk may have left out any row.
   */
  readonly stretch: { readonly lowest: Timestamp; readonly head: Timestamp } | undefined;
}

export function wantedRecords(
  project: ProjectRecord | undefined,
  walk: WalkState,
  nowMs: number,
): WantedRecords {
  const { head, lowest } = (walk.isUnordered ? undefined : resumeAfter(project, walk)) ?? {};
  const stretch = head === undefined || lowest === undefined ? undefined : { head, lowest };
  const until = project && reachedUntil(project, nowMs);
  const { newsSince } = walk.goal;
  // What is older than the first news is never published.
  const beforeNews = newsSince === undefined ? undefined : earlierBy(newsSince, 1_000);
  return { after: later(until, beforeNews), stretch };
}

/** The second of the lowest row counts as unread, so an operation of that second needs a name (`mayBeForgotten`). */
export function isWanted(createdAt: Timestamp, { after, stretch }: WantedRecords): boolean {
  if (after !== undefined && createdAt <= after) return false;
  return stretch === undefined || createdAt <= stretch.lowest || createdAt > stretch.head;
}

/** Says of which project and at which time the table has been asked. */
interface FailingProject {
  readonly project: ProjectRecord;
  readonly walk: WalkState;
  readonly nowMs: number;
}

/**
 * Names the newest of the operations that the table holds. When there are more of them than can be named, everything
 * down from the newest one that is left out counts as recorded.
 */
export function noteRecorded(
  { project, walk, nowMs }: FailingProject,
  recorded: readonly RecordedOperation[],
): Progress {
  const known = project.recorded_until;
  const resume = resumeAfter(project, walk);
  const from = reachedUntil(project, nowMs);
  const leftOut = newestLeftOut(project.recorded_above ?? NOTHING_NAMED, recorded, from ?? UNKNOWN_HEAD);
  const isAboveHead = resume !== undefined && leftOut !== undefined && leftOut > resume.head;
  const until = isAboveHead || from === undefined ? from : later(from, leftOut);
  const noted = resume && {
    ...resume,
    newest: later(later(resume.head, resume.newest), isAboveHead ? leftOut : undefined),
  };
  return {
    ...(until !== known && { recordedUntil: until }),
    ...(noted?.newest !== resume?.newest && { resume: noted }),
  };
}

const NOTHING_NAMED: RecordedAbove = {};

/** A walk that this poll has cut short continues where it stopped, and any other one where an earlier poll has stopped. */
function resumeAfter(project: ProjectRecord | undefined, walk: WalkState): ResumePoint | undefined {
  return resumePoint(walk) ?? project?.resume;
}

/**
 * Everything up to this time counts as recorded. What becomes visible late may be older than the watermark, so all is
 * named as deep as sweeps look for it, unless the table may have forgotten some of it by now.
 */
function reachedUntil({ watermark, recorded_until }: ProjectRecord, nowMs: number): Timestamp | undefined {
  if (recorded_until !== undefined || watermark === undefined) return recorded_until;
  const deep = later(earlierBy(watermark, SWEEP_DEPTH_MS), secondOf(nowMs - FORGOTTEN_AFTER_MS));
  return deep !== undefined && deep < watermark ? deep : watermark;
}

function later(time: Timestamp | undefined, other: Timestamp | undefined): Timestamp | undefined {
  return time === undefined || (other !== undefined && other > time) ? other : time;
}
