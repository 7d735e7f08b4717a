/** What one walk is for, what it has met so far, and what it reads next. */

import type { Operation } from '../../../shared/core/records/operation.ts';
import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';

export interface WalkLimits {
  /** Rows of the first page: enough for a usual poll, and few enough to parse quickly. */
  readonly firstPageRows: number;
  /** Rows of every further page: the most that the service gives. */
  readonly widePageRows: number;
  /** Most pages that one walk may read in one poll; the next poll resumes it. */
  readonly pagesMax: number;
  /** How far below the watermark a walk reads again, because rows can become visible late. */
  readonly overlapMs: number;
}

export interface WalkGoal {
  /** The walk reads everything that is not older. When undefined, it goes `depthMs` below the head, or to the end of the list. */
  readonly bound: Timestamp | undefined;
  readonly depthMs?: number | undefined;
  /** Operations from this time on are news, so a first walk reaches at least that far, whatever `depthMs` says. */
  readonly newsSince?: Timestamp | undefined;
  readonly resume: ResumePoint | undefined;
  /** Rows of the first page, when the usual one would not reach all open operations. */
  readonly firstPageRows?: number | undefined;
  /** Whether an earlier walk has met rows that were out of order. Then only the end of the list ends this walk. */
  readonly isUnordered?: boolean | undefined;
  /** The cursor of the list's last row, when an earlier poll has proved that nothing stands behind it. */
  readonly endCursor?: string | undefined;
}

export interface WalkPage {
  readonly operations: readonly Pick<Operation, 'id' | 'created_at'>[];
  /** Rows of the answer that could not be parsed. They count as rows. */
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** When the page was read, by the upstream's clock if the answer shows it. */
  readonly readAt?: Timestamp | undefined;
}

export interface WalkState {
  readonly goal: WalkGoal;
  readonly limits: WalkLimits;
  /** The watermark that the walk earns once it is complete. Undefined on an empty list. */
  readonly head: Timestamp | undefined;
  /** A resumed walk first reads what is new at the head; its tail continues where the interrupted walk stopped. */
  readonly phase: 'head' | 'tail';
  readonly next: WalkRequest | undefined;
  readonly outcome: 'walking' | 'complete' | 'interrupted';
  readonly pagesRead: number;
  /** Nothing below this cursor has been read yet. Undefined while only the first page has been read. */
  readonly lastCursor: string | undefined;
  /** The cursor of a first page that is read once more with more rows: what that page showed is recorded. */
  readonly widenedCursor: string | undefined;
  readonly seenIds: ReadonlySet<string>;
  readonly followedCursors: ReadonlySet<string>;
  /** Creation time of the row directly above the next page. */
  readonly aboveNext: Timestamp | undefined;
  /** Whether rows are, or once were, not newest first. Then only the end of the list ends the walk, and it earns no watermark. */
  readonly isUnordered: boolean;
  /** Whether rows of this walk itself were out of order. */
  readonly hasMetDisorder: boolean;
  /** When the walk began. A resumed walk began when its first part did. */
  readonly beganAt: Timestamp | undefined;
  /** The newest row that was created before the walk began. A complete walk has met all older rows. */
  readonly newest: Timestamp | undefined;
  /** The walk ended because nothing stands behind this cursor; undefined when it ended otherwise. */
  readonly endCursor: string | undefined;
}

export interface WalkRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** A walk that has read nothing yet, and reads `next` first. */
export function newWalk(goal: WalkGoal, limits: WalkLimits, next: WalkRequest): WalkState {
  return {
    goal,
    limits,
    head: undefined,
    phase: 'head',
    next,
    outcome: 'walking',
    pagesRead: 0,
    lastCursor: undefined,
    widenedCursor: undefined,
    seenIds: new Set(),
    followedCursors: new Set(),
    aboveNext: undefined,
    isUnordered: false,
    hasMetDisorder: false,
    beganAt: undefined,
    newest: undefined,
    endCursor: undefined,
  };
}
