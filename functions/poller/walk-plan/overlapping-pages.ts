/**
 * Plans the pages of a deep walk so that each of them begins in the middle of the page before it.
 *
 * Two operations of one microsecond can stand on both sides of a page's end, and the page that begins at this end shows
 * only the first of them. Sweeps end their pages elsewhere and find the second one, but they do not read as deep as a
 * walk may. So a walk reads its deep pages twice over: one page is asked for with half of its rows, and from then on the
 * next page begins at the upper one of the two lowest page ends. A page's end is then inside another page (ADR 0003).
 */

import { earlierBy } from '../../../shared/core/time/timestamp.ts';
import { SWEEP_DEPTH_MS } from './sweep-walk.ts';
import type { PageEnd, WalkPage, WalkRequest, WalkState } from './walk-state.ts';

/**
 * Pages overlap from this depth below the head on. The watermark moves on by at most some days before a sweep follows, so
 * half of what a sweep reads is certainly swept.
 */
export const OVERLAPS_BELOW_MS = SWEEP_DEPTH_MS / 2;

type Following = Pick<WalkState, 'lastCursor' | 'aboveNext' | 'lead' | 'isHalved'> & {
  readonly request: WalkRequest;
};

/** Returns what a walk reads after this page. `state` has the page taken already. */
export function followingPage(state: WalkState, request: WalkRequest, page: WalkPage): Following {
  const end = { cursor: page.cursor, above: state.aboveNext };
  const { lead, isHalved } = state;
  if (isHalved) return beginsAt(state, end, lead);
  if (state.isUnordered || !isFull(request, page)) return beginsAt(state, end, undefined);
  if (lead !== undefined) return beginsAt(state, lead, end);
  return isDeep(state) && hasPageForHalf(state)
    ? halve(state, request, end)
    : beginsAt(state, end, undefined);
}

/** The upstream may put fewer rows on a page than were asked for. Asking for half of them would not move its end. */
function isFull({ limit }: WalkRequest, { operations, malformedRowCount }: WalkPage): boolean {
  return limit > 1 && operations.length + malformedRowCount >= limit;
}

function isDeep({ goal, head, aboveNext }: WalkState): boolean {
  const { overlapsBelowMs } = goal;
  if (overlapsBelowMs === undefined || head === undefined || aboveNext === undefined) return false;
  return aboveNext < earlierBy(head, overlapsBelowMs);
}

/** The half page shows nothing new. A poll that ended before it would not bring the walk nearer to its end. */
function hasPageForHalf({ pagesRead, limits }: WalkState): boolean {
  return pagesRead < limits.pagesMax;
}

/** A walk that is cut short here continues where this page began, and otherwise its end would have no page around it. */
function halve(state: WalkState, { cursor, limit }: WalkRequest, end: PageEnd): Following {
  return {
    request: { cursor, limit: Math.floor(limit / 2) },
    lastCursor: cursor ?? state.widenedCursor ?? end.cursor,
    aboveNext: undefined,
    lead: end,
    isHalved: true,
  };
}

function beginsAt({ limits }: WalkState, { cursor, above }: PageEnd, lead: PageEnd | undefined): Following {
  return {
    request: { cursor, limit: limits.widePageRows },
    lastCursor: cursor,
    aboveNext: above,
    lead,
    isHalved: false,
  };
}
