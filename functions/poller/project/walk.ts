/**
 * Plans a walk over a project's list, page by page, and decides what the walk has earned (PROTOCOL.md, "A poll").
 *
 * The list is newest first, and its only handle is "the page after this cursor". Rows show whole seconds while cursors
 * hold microseconds, so cursors go back as they came. How many rows a page holds proves nothing: an upstream may cap its
 * pages at any size.
 */

import type { Operation } from '../../../shared/records/operation-record.ts';
import {
  type Progress,
  type ProjectRecord,
  type ResumePoint,
  type StoredArrivals,
  wasRead,
} from '../../../shared/records/project-record.ts';
import { DAY_MS, earlierBy, normaliseTimestamp, type Timestamp } from '../../../shared/records/time.ts';

export interface WalkLimits {
  /** The first page has this many rows: enough for a usual poll, and few enough to parse quickly. */
  readonly firstPageRows: number;
  /** Every further page has this many rows, which is the most that the service gives. */
  readonly widePageRows: number;
  /** One walk reads at most this many pages in one poll. The next poll resumes it. */
  readonly pagesMax: number;
  /** A walk reads again this far below the bound, because rows can become visible late. */
  readonly overlapMs: number;
}

export interface WalkRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** A walk has arrived when everything in its reach was on its pages. One that is cut short goes on with the next poll. */
export interface Walk {
  readonly limits: WalkLimits;
  /** Rows older than this are out of reach. When it is undefined, the walk reads to the end of the list. */
  readonly reach: Timestamp | undefined;
  /** A sweep looks for what walks have missed, and its pages have random sizes. */
  readonly isSweep: boolean;
  readonly resume: ResumePoint | undefined;
  /** It is the newest time of the first page that is not in the future, or the head of the walk that is resumed. */
  readonly head: Timestamp | undefined;
  /** The walk reads this next. It is undefined when the walk has arrived or has no pages left. */
  readonly next: WalkRequest | undefined;
  readonly hasArrived: boolean;
  readonly pagesRead: number;
  /** Everything above this cursor was read. It is undefined while nothing was. */
  readonly cursor: string | undefined;
  /** The bytes of the first page were those of an earlier poll, which had nothing to do. */
  readonly isUnchanged: boolean;
  /** The first page had only this many rows, fewer than were asked for. It is undefined when that page was full. */
  readonly pageRowsMax: number | undefined;
  /** A row was newer than one above it, which breaks the specification ("List operations"). */
  readonly isOutOfOrder: boolean;
  readonly seenIds: ReadonlySet<string>;
  readonly followedCursors: ReadonlySet<string>;
  /** The last row that was read and shows a readable time was created at this time. */
  readonly lowest: Timestamp | undefined;
}

/** This bound stands below every operation, for a list whose rows show no time that can bound anything. */
const BELOW_ALL = '0001-01-01T00:00:00.000000000Z' as Timestamp;

/** Returns a walk that has read nothing yet. */
export function startWalk(project: ProjectRecord | undefined, limits: WalkLimits): Walk {
  const { bound, resume } = project ?? {};
  const reach = bound && earlierBy(bound, limits.overlapMs);
  const first = { cursor: undefined, limit: limits.firstPageRows };
  return { ...newWalk(limits, reach, first), resume, head: resume?.head };
}

function newWalk(limits: WalkLimits, reach: Timestamp | undefined, next: WalkRequest): Walk {
  return {
    limits,
    reach,
    isSweep: false,
    resume: undefined,
    head: undefined,
    next,
    hasArrived: false,
    pagesRead: 0,
    cursor: next.cursor,
    isUnchanged: false,
    pageRowsMax: undefined,
    isOutOfOrder: false,
    seenIds: new Set(),
    followedCursors: new Set(),
    lowest: undefined,
  };
}

/** The answer to one request of a walk. */
export interface WalkPage {
  readonly operations: readonly Pick<Operation, 'id' | 'created_at'>[];
  /** This many rows of the answer could not be parsed. They count as rows. */
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** It is true when the bytes of the page were known. Then it shows none of its rows and no cursor. */
  readonly isUnchanged?: boolean;
  /** Nothing on the page is newer than this second, unless its time is wrong (`earlierNowMs`). */
  readonly readAt: Timestamp;
  /**
   * The page was read in this second or before, by the later of the upstream's clock and ours. It is undefined when the
   * answer does not show the upstream's, because one clock alone proves nothing.
   */
  readonly readBy: Timestamp | undefined;
}

/**
 * Returns the walk after the answer to `walk.next`. A row from the future is recorded like any other, and bounds
 * nothing: what begins before its time would never be read.
 */
export function takePage(begun: Walk, page: WalkPage): Walk {
  const { next } = begun;
  if (next === undefined) return begun;
  if (page.isUnchanged) return { ...arrived(begun), pagesRead: 1, isUnchanged: true };
  const walk = begun.pagesRead === 0 ? withTrueBounds(begun, page.readBy) : begun;
  const times = page.operations.flatMap((row) => normaliseTimestamp(row.created_at) ?? []);
  const { cursor: asked, limit } = next;
  const rowCount = page.operations.length + page.malformedRowCount;
  const isFirst = walk.pagesRead === 0;
  const newest = isFirst ? newestUntil(page.readAt, times) : undefined;
  const read: Walk = {
    ...walk,
    head: walk.head ?? newest,
    pageRowsMax: isFirst && rowCount < limit ? rowCount : walk.pageRowsMax,
    pagesRead: walk.pagesRead + 1,
    cursor: page.cursor ?? walk.cursor,
    isOutOfOrder: walk.isOutOfOrder || isOutOfOrder(walk.lowest, times),
    seenIds: new Set([...walk.seenIds, ...page.operations.map(({ id }) => id)]),
    followedCursors: asked === undefined ? walk.followedCursors : new Set([...walk.followedCursors, asked]),
    lowest: times.at(-1) ?? walk.lowest,
  };
  // A first page that has come down by itself shows no more than its own rows: a replica that lags lacks those below the cursor.
  if (isPast(read)) return arrived(isFirst ? { ...read, head: newest } : read);
  // The first page of a resumed walk brings the news, and says nothing of what is below the cursor.
  if (walk.resume !== undefined && isFirst) return goOn(read, walk.resume.cursor, undefined);
  if (isLastPage(walk, read, page)) return arrived(read);
  // A full first page is read once more with more rows, because rows of one microsecond may stand on both sides of its end.
  const isFull = rowCount >= limit && limit < walk.limits.widePageRows;
  const isNarrow = isFirst && isFull && !walk.isSweep;
  return isNarrow
    ? { ...goOn(read, undefined, undefined), cursor: page.cursor }
    : goOn(read, page.cursor, read.lowest);
}

function isPast({ reach, lowest }: Walk): boolean {
  return reach !== undefined && lowest !== undefined && lowest < reach;
}

/** A list ends on an empty page, without a cursor, or where a cursor that was followed before brings no new row. */
function isLastPage(before: Walk, after: Walk, { cursor, operations, malformedRowCount }: WalkPage): boolean {
  if (cursor === undefined || operations.length + malformedRowCount === 0) return true;
  return after.followedCursors.has(cursor) && after.seenIds.size === before.seenIds.size;
}

function arrived(walk: Walk): Walk {
  return { ...walk, next: undefined, hasArrived: true };
}

function goOn(walk: Walk, cursor: string | undefined, lowest: Timestamp | undefined): Walk {
  const { widePageRows, pagesMax } = walk.limits;
  const next = walk.pagesRead < pagesMax ? { cursor, limit: widePageRows } : undefined;
  return { ...walk, cursor, lowest, next };
}

/** Returns the same walk from the head of its list, after the upstream has refused the cursor of an earlier poll. */
export function restartWalk({ limits, reach, isSweep }: Walk): Walk {
  return { ...newWalk(limits, reach, { cursor: undefined, limit: limits.widePageRows }), isSweep };
}

function newestUntil(until: Timestamp, times: readonly Timestamp[]): Timestamp | undefined {
  return times.filter((time) => time <= until).reduce<Timestamp | undefined>(later, undefined);
}

function later(a: Timestamp | undefined, b: Timestamp): Timestamp {
  return a === undefined || b > a ? b : a;
}

function isOutOfOrder(above: Timestamp | undefined, times: readonly Timestamp[]): boolean {
  return times.some((time, index) => {
    const before = times[index - 1] ?? above;
    return before !== undefined && time > before;
  });
}

/**
 * A bound that is later than both clocks is no bound: an earlier version has taken it from a row of the future. The walk
 * then reads the whole list. `readBy` is undefined when the answer does not show the upstream's clock, because one clock
 * alone proves nothing.
 */
function withTrueBounds(walk: Walk, readBy: Timestamp | undefined): Walk {
  const { reach, resume, limits } = walk;
  if (readBy === undefined) return walk;
  const isHeadFalse = resume !== undefined && earlierBy(resume.head, limits.overlapMs) > readBy;
  const isReachFalse = reach !== undefined && reach > readBy;
  const sound = isHeadFalse ? { ...walk, resume: undefined, head: undefined } : walk;
  return isReachFalse ? { ...sound, reach: undefined } : sound;
}

/** A sweep reads seven days below the bound. */
export const SWEEP_DEPTH_MS = 7 * DAY_MS;

/**
 * Returns a sweep: a daily walk that reads deeper than the others, with pages that end elsewhere each time. So it finds
 * rows that became visible late, and the second of two rows of one microsecond on both sides of a page's end.
 * `pageRows` are the most rows that a page of this list is known to hold. `dice` is a number from 0 up to 1.
 */
export function startSweep(
  { bound, cursor }: { readonly bound: Timestamp; readonly cursor: string | undefined },
  limits: WalkLimits,
  pageRows: number,
  dice: number,
): Walk {
  const next = { cursor, limit: sweepPageRows(pageRows, dice) };
  return { ...newWalk(limits, bound, next), isSweep: true };
}

/** Returns the sweep with a new random size of its next page. */
export function withRandomPage(walk: Walk, pageRows: number, dice: number): Walk {
  return walk.next === undefined
    ? walk
    : { ...walk, next: { ...walk.next, limit: sweepPageRows(pageRows, dice) } };
}

/** Small pages would cost many requests, so a page has at least half of the rows that it can have. */
function sweepPageRows(pageRows: number, dice: number): number {
  const fewest = Math.ceil(pageRows / 2);
  return fewest + Math.floor(dice * (pageRows - fewest + 1));
}

/** Says whether the walk has arrived with nothing but the rows of its first page. */
export function hasReadNothingBelow(walk: Walk, firstPage: WalkPage): boolean {
  return walk.hasArrived && walk.seenIds.size <= firstPage.operations.length;
}

/** What one poll of a project came to, as far as the progress of its reading depends on it. */
export interface ReadPoll {
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly walk: Walk;
  /** It is undefined when no sweep was due. */
  readonly sweep: Walk | undefined;
  /** This many rows are newer than the stored bound. */
  readonly newerRowCount: number;
  /** The bound moves once this many newer rows were seen: a write per walk would double the cost of a quiet account. */
  readonly boundStepRows: number;
  /** `since` of a project whose bound the second edition has written. */
  readonly since: Timestamp | undefined;
  readonly arrivals: StoredArrivals | undefined;
  readonly nowMs: number;
}

/** Returns what is worth a write, or undefined. */
export function decideProgress(poll: ReadPoll): Progress | undefined {
  const progress = { ...walkProgress(poll), ...sweepProgress(poll) };
  return Object.keys(progress).length === 0 ? undefined : progress;
}

function walkProgress({ project, walk, ...poll }: ReadPoll): Progress {
  const { bound, resume } = project ?? {};
  const { head, cursor } = walk;
  if (walk.isUnchanged) return {};
  if (!walk.hasArrived) {
    const isMoved = walk.pagesRead > 0 && cursor !== undefined && cursor !== resume?.cursor;
    return isMoved ? { resume: { cursor, head: head ?? BELOW_ALL } } : {};
  }
  const nothing = resume === undefined ? {} : { resume: null };
  // A list without any row has no bound. That it was read is noted all the same, once.
  if (head === undefined || head === BELOW_ALL)
    return project === undefined || wasRead(project) ? nothing : { ...nothing, sweptAtMs: poll.nowMs };
  // Without a reach the walk has read the whole list: there was no bound, or a false one.
  const isFirst =
    walk.reach === undefined || project?.isOfSecondEdition === true || project?.isLowered === true;
  if (isFirst) return earned(head, poll, bound);
  // A replica that lags, or the end of an older walk, shows a head that is lower than what is known.
  if (bound !== undefined && head <= bound) return nothing;
  const isWorthMoving =
    resume !== undefined || walk.pagesRead > 1 || poll.newerRowCount >= poll.boundStepRows;
  return isWorthMoving ? earned(head, poll, bound) : {};
}

/** The first whole walk of a project is deeper than any sweep. */
function earned(
  head: Timestamp,
  { arrivals, since, nowMs }: Pick<ReadPoll, 'arrivals' | 'since' | 'nowMs'>,
  bound: Timestamp | undefined,
): Progress {
  return {
    bound: head,
    resume: null,
    ...(since !== undefined && { since }),
    ...(arrivals && { arrivals }),
    ...(bound === undefined && { sweptAtMs: nowMs }),
  };
}

/** A sweep is done when it has arrived, in as many polls as that takes. A failure leaves it where it was. */
function sweepProgress({ project, sweep, nowMs }: ReadPoll): Progress {
  if (sweep === undefined) return {};
  if (sweep.hasArrived) return { sweptAtMs: nowMs, ...(project?.sweep !== undefined && { sweep: null }) };
  const { cursor, reach } = sweep;
  const isMoved = cursor !== undefined && cursor !== project?.sweep?.cursor;
  return isMoved && reach !== undefined ? { sweep: { bound: reach, cursor } } : {};
}
