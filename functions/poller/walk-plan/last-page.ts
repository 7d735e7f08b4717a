/** Decides whether a page is the last one of its list, and behind which cursor nothing stands then. */

import type { WalkPage, WalkRequest, WalkState } from './walk-state.ts';

export function isLastPage(before: WalkState, after: WalkState, page: WalkPage): boolean {
  const { cursor, operations, malformedRowCount } = page;
  if (cursor === undefined || operations.length + malformedRowCount === 0) return true;
  // New rows may stand behind the last row of an unordered list.
  if (cursor === before.goal.endCursor && !after.isUnordered) return true;
  return after.followedCursors.has(cursor) && after.seenIds.size === before.seenIds.size;
}

/** Returns the cursor behind which nothing stands: the one of this page, or the one that led to an empty page. */
export function endCursorOf(request: WalkRequest, page: WalkPage): string | undefined {
  return page.operations.length + page.malformedRowCount === 0 ? request.cursor : page.cursor;
}
