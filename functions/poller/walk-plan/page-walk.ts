/**
 * Plans one walk over a newest-first list whose only handle is "the page after this cursor".
 *
 * A walk reads from the head of the list down to a bound. It ends when a row older than the bound was read, when there
 * is no cursor, when a page is empty, or when a cursor that was followed before brings no new row. How many rows a page
 * holds, compared with how many were asked for, proves nothing: an upstream may cap its pages at any size.
 *
 * Rows show whole seconds while cursors hold microseconds. Cursors therefore go back as they came, and the second of the
 * bound counts as not yet read. Two operations that were created in the same microsecond can stand on both sides of a
 * page's end, and "strictly older than the cursor" skips the second one. A walk therefore widens a full page before it
 * follows its cursor, and the pages of each sweep end elsewhere (ADR 0003).
 */

import type { Operation } from '../../../shared/core/records/operation.ts';
import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import { DAY_MS } from '../../../shared/core/time/durations.ts';
import { earlierBy, normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';

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

/** A sweep reads seven days below the watermark. */
export const SWEEP_DEPTH_MS = 7 * DAY_MS;

/**
 * Pages of an unordered list in one poll. Such a list earns no watermark and is read to its end again and again, so each
 * poll takes a few pages of it and leaves the rest of the rate limit to other projects.
 */
export const UNORDERED_PAGES_MAX = 3;

/** Stands for the head of a list whose rows show no readable time, and for a time before every operation. */
export const UNKNOWN_HEAD = '0001-01-01T00:00:00.000000000Z' as Timestamp;

export function startWalk(goal: WalkGoal, limits: WalkLimits): WalkState {
  const { resume, firstPageRows = limits.firstPageRows } = goal;
  return {
    ...newState(goal, limits, { cursor: undefined, limit: firstPageRows }),
    head: resume?.head,
    isUnordered: resume?.is_unordered === true || goal.isUnordered === true,
    beganAt: resume?.began_at,
    newest: resume?.newest,
  };
}

/**
 * A sweep starts at the head of the list, or continues at `cursor`. Its first page has another size each time, so that even in a
 * list that does not change, pages end elsewhere in each sweep.
 */
export function startSweep(
  goal: {
    readonly bound: Timestamp;
    readonly cursor: string | undefined;
    readonly firstPageRows: number;
  },
  limits: WalkLimits,
): WalkState {
  const { bound, cursor, firstPageRows } = goal;
  const limit = cursor === undefined ? firstPageRows : limits.widePageRows;
  return {
    ...newState({ bound, resume: undefined }, limits, { cursor, limit }),
    phase: 'tail',
    lastCursor: cursor,
  };
}

function newState(goal: WalkGoal, limits: WalkLimits, next: WalkRequest): WalkState {
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

/**
 * Rows of a sweep's first page. `pageRows` is the most rows that a page of this list is known to hold. The size changes with
 * `sweepNumber` and repeats after all sizes, so that rows that fit on one page share a page in at least one of these sweeps.
 */
export function sweepPageRows(sweepNumber: number, pageRows: number): number {
  const sizes = Math.max(1, pageRows - 1);
  return sizes - (sweepNumber % sizes);
}

/** The state after the answer to `state.next` was read and every row of it was dealt with. */
export function takePage(state: WalkState, page: WalkPage): WalkState {
  const request = state.next;
  if (request === undefined) return state;
  const times = page.operations.map((row) => normaliseTimestamp(row.created_at));
  const head = state.head ?? times.find((time) => time !== undefined);
  const isDisorder = isOutOfOrder(state, page, times);
  // A walk that an earlier version has begun does not say when: what it has read proves nothing about the newest row.
  const beganAt = state.goal.resume === undefined ? (state.beganAt ?? page.readAt) : state.beganAt;
  const read: WalkState = {
    ...state,
    goal: withBound(state.goal, head),
    head,
    pagesRead: state.pagesRead + 1,
    seenIds: new Set([...state.seenIds, ...page.operations.map((row) => row.id)]),
    followedCursors: withCursor(state.followedCursors, request.cursor),
    aboveNext: times.findLast((time) => time !== undefined) ?? state.aboveNext,
    isUnordered: state.isUnordered || isDisorder,
    hasMetDisorder: state.hasMetDisorder || isDisorder,
    beganAt,
    newest: newestBefore(beganAt, [state.newest, ...times]),
  };
  if (isPast(read, times)) return finishPhase(read);
  if (isLastPage(state, read, page)) return complete(read, endCursorOf(request, page));
  return proceed(read, page);
}

function newestBefore(
  beganAt: Timestamp | undefined,
  times: readonly (Timestamp | undefined)[],
): Timestamp | undefined {
  let newest: Timestamp | undefined;
  for (const time of times) {
    const isBefore = time !== undefined && beganAt !== undefined && time < beganAt;
    if (isBefore && (newest === undefined || time > newest)) newest = time;
  }
  return newest;
}

/** Where the next poll resumes an interrupted walk; undefined when it must start at the head. */
export function resumePoint(state: WalkState): ResumePoint | undefined {
  const { head = UNKNOWN_HEAD, goal, phase, isUnordered } = state;
  // A page that could not be widened ends where a sweep looks again: two rows of one microsecond may stand there.
  const lastCursor = state.lastCursor ?? state.widenedCursor;
  const flag = isUnordered ? { is_unordered: true } : {};
  // The interrupted walk has no gap down to its cursor. What this poll has read above its head is read again later.
  if (phase === 'head' && goal.resume !== undefined) return { ...goal.resume, ...flag };
  if (lastCursor === undefined) return undefined;
  return { head, cursor: lastCursor, ...flag, ...(isUnordered ? cycleOf(state) : depthOf(state)) };
}

/** How far an unordered list has been read, and when the walk began. */
function cycleOf({ beganAt, newest }: WalkState): Pick<ResumePoint, 'began_at' | 'newest'> {
  return { ...(beganAt && { began_at: beganAt }), ...(newest && { newest }) };
}

/** A tail that has read no row yet is still where the interrupted walk stopped. */
function depthOf({ aboveNext, goal }: WalkState): Pick<ResumePoint, 'lowest'> {
  const lowest = aboveNext ?? goal.resume?.lowest;
  return lowest === undefined ? {} : { lowest };
}

/** The bound of a walk; undefined before the first complete walk, which earns the first watermark. */
export function boundOf(watermark: Timestamp | undefined, depthMs: number): Timestamp | undefined {
  return watermark === undefined ? undefined : earlierBy(watermark, depthMs);
}

/** Whether the walk deals with a row. An earlier walk has dealt with rows below the bound. A row without a readable time is in reach. */
export function isInReach(state: WalkState, createdAt: string): boolean {
  const { bound } = state.goal;
  const time = normaliseTimestamp(createdAt);
  return state.isUnordered || bound === undefined || time === undefined || time >= bound;
}

function withBound(goal: WalkGoal, head: Timestamp | undefined): WalkGoal {
  if (goal.bound !== undefined || goal.depthMs === undefined || head === undefined) return goal;
  const deep = earlierBy(head, goal.depthMs);
  return { ...goal, bound: goal.newsSince !== undefined && goal.newsSince < deep ? goal.newsSince : deep };
}

function withCursor(followed: ReadonlySet<string>, cursor: string | undefined): ReadonlySet<string> {
  return cursor === undefined ? followed : new Set([...followed, cursor]);
}

/** Whether a row is newer than one above it, or no row of the page shows a readable time. */
function isOutOfOrder(
  state: WalkState,
  { operations }: WalkPage,
  times: readonly (Timestamp | undefined)[],
): boolean {
  const known = times.filter((time) => time !== undefined);
  if (known.length === 0) return operations.length > 0;
  // Widening a page reads the list from its head again, where new rows may have appeared since.
  const above = state.next?.cursor === undefined ? undefined : state.aboveNext;
  return known.some((time, index) => {
    const before = known[index - 1] ?? above;
    return before !== undefined && time > before;
  });
}

/**
 * The bound of the phase is passed once a page's last row is older. The head part of a resumed walk ends at the head of
 * the interrupted one: the watermark will stay at that head, so the next walk reads everything above it again.
 */
function isPast(state: WalkState, times: readonly (Timestamp | undefined)[]): boolean {
  const phaseBound = isHeadOfResumed(state) ? state.goal.resume?.head : state.goal.bound;
  const last = times.findLast((time) => time !== undefined);
  if (phaseBound === undefined || last === undefined || state.isUnordered) return false;
  return last < phaseBound;
}

function isHeadOfResumed({ phase, goal }: WalkState): boolean {
  return phase === 'head' && goal.resume !== undefined;
}

function isLastPage(before: WalkState, after: WalkState, page: WalkPage): boolean {
  const { cursor, operations, malformedRowCount } = page;
  if (cursor === undefined || operations.length + malformedRowCount === 0) return true;
  // New rows may stand behind the last row of an unordered list.
  if (cursor === before.goal.endCursor && !after.isUnordered) return true;
  return after.followedCursors.has(cursor) && after.seenIds.size === before.seenIds.size;
}

/** The cursor behind which nothing stands: the one of this page, or the one that led to an empty page. */
function endCursorOf(request: WalkRequest, page: WalkPage): string | undefined {
  return page.operations.length + page.malformedRowCount === 0 ? request.cursor : page.cursor;
}

function complete(state: WalkState, endCursor?: string): WalkState {
  return { ...state, next: undefined, outcome: 'complete', endCursor };
}

function finishPhase(state: WalkState): WalkState {
  return isHeadOfResumed(state) ? startTail(state) : complete(state);
}

/** Continues where the interrupted walk stopped. */
function startTail(state: WalkState): WalkState {
  const { resume } = state.goal;
  if (resume === undefined) return complete(state);
  const next = { cursor: resume.cursor, limit: state.limits.widePageRows };
  return { ...state, phase: 'tail', lastCursor: resume.cursor, aboveNext: undefined, next };
}

function proceed(state: WalkState, page: WalkPage): WalkState {
  if (isHeadOfResumed(state) && state.pagesRead >= headPagesMax(state)) return startTail(state);
  const { widePageRows } = state.limits;
  if (canWiden(state, page)) {
    const widened = { ...state, widenedCursor: page.cursor };
    return { ...widened, ...nextRequest(state, { cursor: undefined, limit: widePageRows }) };
  }
  const { cursor } = page;
  return { ...state, lastCursor: cursor, ...nextRequest(state, { cursor, limit: widePageRows }) };
}

/** A wider page can only hold more when the narrow one was full. */
function canWiden({ next, limits, phase, isUnordered }: WalkState, page: WalkPage): boolean {
  const rowCount = page.operations.length + page.malformedRowCount;
  const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;
  return phase === 'head' && isNarrow && !isUnordered && rowCount >= next.limit;
}

/** A resumed walk keeps half of its pages for its tail, so that each poll brings it nearer to its end. */
function headPagesMax({ limits, isUnordered }: WalkState): number {
  return isUnordered ? 1 : Math.max(1, Math.floor(limits.pagesMax / 2));
}

function nextRequest(state: WalkState, request: WalkRequest): Pick<WalkState, 'next' | 'outcome'> {
  const { limits, isUnordered, pagesRead } = state;
  const pagesMax = isUnordered ? Math.min(UNORDERED_PAGES_MAX, limits.pagesMax) : limits.pagesMax;
  if (pagesRead >= pagesMax) return { next: undefined, outcome: 'interrupted' };
  return { next: request, outcome: 'walking' };
}
