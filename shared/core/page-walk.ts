/**
 * Plans one walk over a newest-first list whose only handle is "the page after this cursor".
 *
 * A walk reads from the head down to a bound. It is complete when a row older than the bound, or the end of the
 * list, was reached. Rows show whole seconds while cursors hold microseconds, so cursors go back as they came,
 * and the bound's own second counts as not yet read. Two operations created in the same microsecond can stand on
 * both sides of a page's end, where the second one is skipped by "strictly older than the cursor": so a walk first
 * widens its page and only then follows cursors, and the pages of each sweep end elsewhere.
 */

import type { Operation } from './operation.ts';
import { earlierBy, normaliseTimestamp, type Timestamp } from './timestamp.ts';

export interface WalkLimits {
  /** Rows of the first page: enough for a usual poll, small enough to parse at once. */
  readonly firstPageRows: number;
  /** Rows of every further page: the most the service gives. */
  readonly widePageRows: number;
  /** Pages one walk may read before it stops and resumes later. */
  readonly pagesMax: number;
  /** How far below the watermark a walk reads again, for rows that became visible late. */
  readonly overlapMs: number;
}

/** Where an interrupted walk stopped: everything from `head` down to `cursor` is recorded. */
export interface ResumePoint {
  readonly head: Timestamp;
  readonly cursor: string;
}

export interface WalkGoal {
  /** Read everything that is not older. Undefined: as deep as `depthMs` below the head, or to the end of the list. */
  readonly bound: Timestamp | undefined;
  readonly depthMs?: number | undefined;
  readonly resume: ResumePoint | undefined;
  /**
   * A sweep trusts no short page: it follows cursors to the last one. The size of its first page changes from one sweep to
   * the next with this number, so that no page's end stays where it is in a list that does not change.
   */
  readonly sweepNumber: number | undefined;
  /** Of the first page, when open operations lie behind the usual one. */
  readonly firstPageRows?: number | undefined;
}

/** How far a first page reached back. */
export interface PageReach {
  readonly rowCount: number;
  /** Creation of the newest and of the oldest row, by the upstream's clock. */
  readonly newestMs: number;
  readonly oldestMs: number;
}

export interface WalkPage {
  readonly operations: readonly Pick<Operation, 'id' | 'created_at'>[];
  /** Rows of the answer that could not be parsed: they count as rows. */
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
}

export interface WalkState {
  readonly goal: WalkGoal;
  readonly limits: WalkLimits;
  /** Creation time of the first row of page 1: the next watermark. Undefined on an empty list. */
  readonly head: Timestamp | undefined;
  readonly phase: 'head' | 'tail';
  readonly next: WalkRequest | undefined;
  readonly outcome: 'walking' | 'complete' | 'interrupted';
  readonly pagesRead: number;
  /** The cursor below which nothing was read yet; undefined until a page was followed by one. */
  readonly lastCursor: string | undefined;
  readonly seenIds: ReadonlySet<string>;
  /** Rows were not newest first: then only the end of the list ends the walk, and the head is not trusted. */
  readonly isUnordered: boolean;
}

export interface WalkRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Seven days below the watermark. */
export const SWEEP_DEPTH_MS = 7 * 24 * 3_600_000;

export function startWalk(goal: WalkGoal, limits: WalkLimits): WalkState {
  const { sweepNumber, firstPageRows = limits.firstPageRows } = goal;
  const limit = sweepNumber === undefined ? firstPageRows : sweepPageRows(sweepNumber, limits);
  return {
    goal,
    limits,
    head: undefined,
    phase: 'head',
    next: { cursor: undefined, limit },
    outcome: 'walking',
    pagesRead: 0,
    lastCursor: undefined,
    seenIds: new Set(),
    isUnordered: false,
  };
}

/** Rows come at another rate by the next time; half as many again are seldom too few. */
const ROWS_MARGIN = 1.5;

/**
 * So many rows show the open operations that were created then, too: requests are counted and rows are not, so one list is
 * better than a read for each. Undefined: the usual page shows them, or no page does.
 */
export function rowsToShow(
  createdMs: readonly number[],
  reach: PageReach | undefined,
  { firstPageRows, widePageRows }: WalkLimits,
): number | undefined {
  if (reach === undefined || reach.newestMs <= reach.oldestMs) return undefined;
  const rowsPerMs = reach.rowCount / (reach.newestMs - reach.oldestMs);
  const needs = createdMs
    .map((openedMs) => Math.ceil((reach.newestMs - openedMs) * rowsPerMs * ROWS_MARGIN))
    .filter((rows) => rows <= widePageRows);
  const most = Math.max(0, ...needs);
  // In steps, so that a page is not another one at each poll.
  const inSteps = Math.ceil(most / firstPageRows) * firstPageRows;
  return most > firstPageRows ? Math.min(widePageRows, inSteps) : undefined;
}

/** Undefined when the page says nothing of how often rows come. */
export function reachOf(rows: readonly Pick<Operation, 'created_at'>[]): PageReach | undefined {
  const times = rows.map(({ created_at }) => Date.parse(created_at)).filter((time) => !Number.isNaN(time));
  if (times.length < 2) return undefined;
  return { rowCount: times.length, newestMs: Math.max(...times), oldestMs: Math.min(...times) };
}

/** The state after the answer to `state.next` was read and every row of it was dealt with. */
export function takePage(state: WalkState, page: WalkPage): WalkState {
  const request = state.next;
  if (request === undefined) return state;
  const times = page.operations.map((row) => normaliseTimestamp(row.created_at));
  const seenIds = new Set([...state.seenIds, ...page.operations.map((row) => row.id)]);
  const head = state.pagesRead === 0 ? times.find((time) => time !== undefined) : state.head;
  const read: WalkState = {
    ...state,
    goal: withBound(state.goal, head),
    head,
    pagesRead: state.pagesRead + 1,
    seenIds,
    isUnordered: state.isUnordered || !isNewestFirst(times),
  };
  if (isPast(read, times)) return finishPhase(read);
  if (isLastPage(state, page, seenIds)) return { ...read, next: undefined, outcome: 'complete' };
  return proceed(read, page.cursor);
}

/** What an interrupted walk leaves for the next one; undefined when that must start at the head. */
export function resumePoint(state: WalkState): ResumePoint | undefined {
  const { head, lastCursor, goal, phase } = state;
  // Until the head part meets it, the older stretch is still the only one that is whole.
  if (phase === 'head' && goal.resume !== undefined) return goal.resume;
  if (head === undefined || lastCursor === undefined || state.isUnordered || goal.sweepNumber !== undefined)
    return undefined;
  return { head, cursor: lastCursor };
}

/** The bound of a usual walk; undefined before the first complete one. */
export function boundOf(watermark: Timestamp | undefined, depthMs: number): Timestamp | undefined {
  return watermark === undefined ? undefined : earlierBy(watermark, depthMs);
}

/** Rows below the bound are the business of an earlier walk; a row whose time cannot be read is dealt with. */
export function isInReach(state: WalkState, createdAt: string): boolean {
  const { bound } = state.goal;
  const time = normaliseTimestamp(createdAt);
  return bound === undefined || time === undefined || time >= bound;
}

function withBound(goal: WalkGoal, head: Timestamp | undefined): WalkGoal {
  if (goal.bound !== undefined || goal.depthMs === undefined || head === undefined) return goal;
  return { ...goal, bound: earlierBy(head, goal.depthMs) };
}

/** The head part of a resumed walk ends where the interrupted one began; then it goes on where that one stopped. */
function finishPhase(state: WalkState): WalkState {
  const { resume } = state.goal;
  if (state.phase === 'tail' || resume === undefined) {
    return { ...state, next: undefined, outcome: 'complete' };
  }
  return {
    ...state,
    phase: 'tail',
    lastCursor: resume.cursor,
    ...nextRequest(state, { cursor: resume.cursor, limit: state.limits.widePageRows }),
  };
}

function proceed(state: WalkState, cursor: string | undefined): WalkState {
  const { widePageRows } = state.limits;
  const { sweepNumber } = state.goal;
  const isNarrow = sweepNumber === undefined && (state.next?.limit ?? widePageRows) < widePageRows;
  if (isNarrow && state.next?.cursor === undefined) {
    return { ...state, ...nextRequest(state, { cursor: undefined, limit: widePageRows }) };
  }
  return { ...state, lastCursor: cursor, ...nextRequest(state, { cursor, limit: widePageRows }) };
}

function nextRequest(state: WalkState, request: WalkRequest): Pick<WalkState, 'next' | 'outcome'> {
  if (state.pagesRead >= state.limits.pagesMax) return { next: undefined, outcome: 'interrupted' };
  return { next: request, outcome: 'walking' };
}

/** The bound of the phase is passed once the page's last row is older; an unordered list is read to its end. */
function isPast(state: WalkState, times: readonly (Timestamp | undefined)[]): boolean {
  const { bound, resume } = state.goal;
  const isHeadOfResumed = state.phase === 'head' && resume !== undefined;
  const phaseBound = isHeadOfResumed ? earlierBy(resume.head, state.limits.overlapMs) : bound;
  const last = times.findLast((time) => time !== undefined);
  if (phaseBound === undefined || last === undefined || state.isUnordered) return false;
  return last < phaseBound;
}

/**
 * No cursor, no rows, or a page that brings no new row under a cursor that does not move: the list has ended.
 * A page shorter than asked ends it too, except in a sweep (`pagination.cursor` is there even when nothing follows).
 */
function isLastPage(state: WalkState, page: WalkPage, seenIds: ReadonlySet<string>): boolean {
  const rowCount = page.operations.length + page.malformedRowCount;
  if (page.cursor === undefined || rowCount === 0) return true;
  const isRepeated = page.cursor === state.next?.cursor && seenIds.size === state.seenIds.size;
  if (isRepeated) return true;
  return state.goal.sweepNumber === undefined && rowCount < (state.next?.limit ?? 0);
}

function isNewestFirst(times: readonly (Timestamp | undefined)[]): boolean {
  const known = times.filter((time) => time !== undefined);
  return known.every((time, index) => index === 0 || time <= (known[index - 1] ?? time));
}

/**
 * The first page of a sweep is another one each time, and wide ones follow: so all of them end elsewhere, and whatever fits on
 * a wide page is at some time on one of them.
 */
function sweepPageRows(sweepNumber: number, { widePageRows }: WalkLimits): number {
  const sizes = Math.max(1, widePageRows - 1);
  return sizes - (sweepNumber % sizes);
}
