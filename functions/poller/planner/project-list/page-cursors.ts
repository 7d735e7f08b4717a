/**
 * Keeps where each page of the project list begins. Pages are read at different times, and projects come and go in
 * between, so the answer for a page also says where the next one begins now.
 */

import { LIST_PAGES_MAX } from './listing.ts';

export interface PageCursors {
  readonly count: number;
  /** Returns undefined for the beginning of the list. */
  cursorOf(page: number): string | undefined;
  /** Learns from what a page has shown: it may bring another page, move the next one or end the list. */
  take(page: number, end: PageEnd): void;
}

/**
 * Says how a page ended. The number of its rows says nothing: the service may hold back any number of the rows asked
 * for.
 */
export interface PageEnd {
  readonly isEmpty: boolean;
  /** The next page begins at this cursor. A page has one even when nothing follows. */
  readonly cursor: string | undefined;
}

export function createPageCursors(pagesMax = LIST_PAGES_MAX): PageCursors {
  const cursors: (string | undefined)[] = [undefined];

  return {
    get count() {
      return cursors.length;
    },
    cursorOf: (page) => cursors[page],
    take(page, { isEmpty, cursor }) {
      if (page >= cursors.length) return;
      // The empty page stays: the next project will stand on it.
      if (isEmpty || cursor === undefined || leadsBack(page, cursor)) truncate(page + 1);
      else if (page + 1 < pagesMax) cursors[page + 1] = cursor;
    },
  };

  /** A page that begins where this one or an earlier one begins would show the same rows again. */
  function leadsBack(page: number, cursor: string): boolean {
    const index = cursors.indexOf(cursor);
    return index !== -1 && index <= page;
  }

  function truncate(count: number): void {
    cursors.length = Math.min(cursors.length, count);
  }
}
