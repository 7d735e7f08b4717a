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
 * follows its cursor, its deep pages overlap, and the pages of each sweep end elsewhere (ADR 0003).
 */

import { FORGOTTEN_AFTER_MS } from '../../../shared/core/records/history.ts';
import { earlierBy, normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { endCursorOf, isLastPage } from './last-page.ts';
import { followingPage } from './overlapping-pages.ts';
import { isOutOfOrder, newestBefore } from './row-order.ts';
import { isHeadOfResumed, isPast, withBound } from './walk-bound.ts';
import {
  newWalk,
  type WalkGoal,
  type WalkLimits,
  type WalkPage,
  type WalkRequest,
  type WalkState,
} from './walk-state.ts';

/**
 * One poll reads at most this many pages of an unordered list. Such a list earns no watermark and is read to its end
 * again and again, so the rest of the rate limit is left to other projects.
 */
export const UNORDERED_PAGES_MAX = 3;

export function startWalk(goal: WalkGoal, limits: WalkLimits): WalkState {
  const { resume, firstPageRows = limits.firstPageRows } = goal;
  return {
    ...newWalk(goal, limits, { cursor: undefined, limit: firstPageRows }),
    head: resume?.head,
    isUnordered: resume?.is_unordered === true || goal.isUnordered === true,
    beganAt: resume?.began_at,
    newest: resume?.newest,
  };
}

/**
 * Returns the state after the answer to `begun.next` was read and every row of it was dealt with. A row whose time lies
 * in the future is recorded like any other and bounds nothing: what begins before that time would never be read.
 */
export function takePage(begun: WalkState, page: WalkPage): WalkState {
  const request = begun.next;
  if (request === undefined) return begun;
  const state = withoutFalseBounds(begun, page.readBy);
  const times = page.operations.map((row) => normaliseTimestamp(row.created_at));
  const head =
    state.head ??
    times.find((time) => time !== undefined && (page.readAt === undefined || time <= page.readAt));
  const isDisorder = isOutOfOrder(state, page, times);
  // A walk that an earlier version has begun does not say when it began, so what it has read proves nothing about the
  // newest row.
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
  return proceed(read, request, page);
}

/**
 * An earlier version may have stored a watermark or a resume point from the future. The walk then begins at the head of
 * the list, and reads everything that is news and that the table cannot have forgotten. A bound is false only if it is later than
 * both clocks, since one that is behind proves nothing.
 */
function withoutFalseBounds(begun: WalkState, readBy: Timestamp | undefined): WalkState {
  const { goal, limits, phase, pagesRead } = begun;
  if (readBy === undefined || phase !== 'head' || pagesRead > 0) return begun;
  const { bound, resume, newsSince } = goal;
  const isResumeFalse = resume !== undefined && earlierBy(resume.head, limits.overlapMs) > readBy;
  const isBoundFalse = bound !== undefined && bound > readBy;
  if (!isResumeFalse && !isBoundFalse) return begun;
  const deep = earlierBy(readBy, FORGOTTEN_AFTER_MS);
  const isAllNews = newsSince === undefined || newsSince < deep || newsSince > readBy;
  const sound = {
    ...goal,
    bound: !isBoundFalse ? bound : isAllNews ? deep : newsSince,
    resume: isResumeFalse ? undefined : resume,
  };
  return { ...startWalk(sound, limits), isBoundFalse };
}

function withCursor(followed: ReadonlySet<string>, cursor: string | undefined): ReadonlySet<string> {
  return cursor === undefined ? followed : new Set([...followed, cursor]);
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
  const apart = { aboveNext: undefined, lead: undefined, isHalved: false };
  return { ...state, phase: 'tail', lastCursor: resume.cursor, ...apart, next };
}

function proceed(state: WalkState, asked: WalkRequest, page: WalkPage): WalkState {
  if (isHeadOfResumed(state) && state.pagesRead >= headPagesMax(state)) return startTail(state);
  const { widePageRows } = state.limits;
  if (canWiden(state, page)) {
    const widened = { ...state, widenedCursor: page.cursor };
    return { ...widened, ...nextRequest(state, { cursor: undefined, limit: widePageRows }) };
  }
  const { request, ...following } = followingPage(state, asked, page);
  return { ...state, ...following, ...nextRequest(state, request) };
}

/** A wider page can only hold more when the narrow one was full. */
function canWiden({ next, limits, phase, isUnordered, isHalved }: WalkState, page: WalkPage): boolean {
  const rowCount = page.operations.length + page.malformedRowCount;
  const isNarrow = next !== undefined && next.cursor === undefined && next.limit < limits.widePageRows;
  return phase === 'head' && isNarrow && !isUnordered && !isHalved && rowCount >= next.limit;
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
