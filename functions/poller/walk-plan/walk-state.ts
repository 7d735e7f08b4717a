/** Describes what one walk is for, what it has met so far, and what it reads next. */

import type { Operation } from '../../../shared/core/records/operation.ts';
import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';

export interface WalkLimits {
  /** The first page has this many rows: enough for a usual poll, and few enough to parse quickly. */
  readonly firstPageRows: number;
  /** Every further page has this many rows, which is the most that the service gives. */
  readonly widePageRows: number;
  /** One walk reads at most this many pages in one poll. The next poll resumes it. */
  readonly pagesMax: number;
  /** A walk reads again this far below the watermark, because rows can become visible late. */
  readonly overlapMs: number;
}

export interface WalkGoal {
  /**
   * The walk reads everything that is not older than this. When it is undefined, the walk goes `depthMs` below the
   * head, or to the end of the list.
   */
  readonly bound: Timestamp | undefined;
  readonly depthMs?: number | undefined;
  /** Operations from this time on are news, so a first walk reaches at least that far, whatever `depthMs` says. */
  readonly newsSince?: Timestamp | undefined;
  readonly resume: ResumePoint | undefined;
  /** The first page has this many rows, when the usual one would not reach all open operations. */
  readonly firstPageRows?: number | undefined;
  /** It is true when an earlier walk has met rows that were out of order. Then only the end of the list ends this walk. */
  readonly isUnordered?: boolean | undefined;
  /**
   * Pages overlap once they end this far below the head, because no sweep reads them again. When it is undefined, every
   * page begins at the end of the one before.
   */
  readonly overlapsBelowMs?: number | undefined;
  /** The list's last row has this cursor. It is set when an earlier poll has proved that nothing stands behind it. */
  readonly endCursor?: string | undefined;
}

export interface WalkPage {
  readonly operations: readonly Pick<Operation, 'id' | 'created_at'>[];
  /** This many rows of the answer could not be parsed. They count as rows. */
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** The page was asked for in this second, by the earlier of the upstream's clock and ours. */
  readonly readAt?: Timestamp | undefined;
  /** The page was read in this second or before, by the later of the upstream's clock and ours. */
  readonly readBy?: Timestamp | undefined;
}

export interface WalkState {
  readonly goal: WalkGoal;
  readonly limits: WalkLimits;
  /**
   * The walk earns this watermark once it is complete. It is undefined on an empty list, and where all rows lie in the
   * future.
   */
  readonly head: Timestamp | undefined;
  /** It is true when the bound lay in the future, so the watermark behind it is replaced and not only moved forwards. */
  readonly isBoundFalse: boolean;
  /** A resumed walk first reads what is new at the head; its tail continues where the interrupted walk stopped. */
  readonly phase: 'head' | 'tail';
  readonly next: WalkRequest | undefined;
  readonly outcome: 'walking' | 'complete' | 'interrupted';
  readonly pagesRead: number;
  /** Nothing below this cursor has been read yet. It is undefined while only the first page has been read. */
  readonly lastCursor: string | undefined;
  /** This is the cursor of a first page that is read once more with more rows. What that page showed is recorded. */
  readonly widenedCursor: string | undefined;
  readonly seenIds: ReadonlySet<string>;
  readonly followedCursors: ReadonlySet<string>;
  /** The row directly above the next page was created at this time. It is undefined when the page is read once more. */
  readonly aboveNext: Timestamp | undefined;
  /** Where pages overlap, an earlier page has read down to this end, below the cursor of the next one. */
  readonly lead: PageEnd | undefined;
  /** The next page is the one before with half of its rows: its end is where the overlapping pages begin. */
  readonly isHalved: boolean;
  /**
   * It is true when rows are, or once were, not newest first. Then only the end of the list ends the walk, and it
   * earns no watermark.
   */
  readonly isUnordered: boolean;
  /** It is true when rows of this walk itself were out of order. */
  readonly hasMetDisorder: boolean;
  /** The walk began at this time. A resumed walk began when its first part did. */
  readonly beganAt: Timestamp | undefined;
  /** The newest row that was created before the walk began has this time. A complete walk has met all older rows. */
  readonly newest: Timestamp | undefined;
  /** The walk ended because nothing stands behind this cursor. It is undefined when the walk ended otherwise. */
  readonly endCursor: string | undefined;
}

/** A page of a walk ended here. */
export interface PageEnd {
  readonly cursor: string | undefined;
  /** The last row of the page was created at this time. It is undefined when no row has shown a readable time. */
  readonly above: Timestamp | undefined;
}

export interface WalkRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a walk that has read nothing yet, and reads `next` first. */
export function newWalk(goal: WalkGoal, limits: WalkLimits, next: WalkRequest): WalkState {
  return {
    goal,
    limits,
    head: undefined,
    isBoundFalse: false,
    phase: 'head',
    next,
    outcome: 'walking',
    pagesRead: 0,
    lastCursor: undefined,
    widenedCursor: undefined,
    seenIds: new Set(),
    followedCursors: new Set(),
    aboveNext: undefined,
    lead: undefined,
    isHalved: false,
    isUnordered: false,
    hasMetDisorder: false,
    beganAt: undefined,
    newest: undefined,
    endCursor: undefined,
  };
}
