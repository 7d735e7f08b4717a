/** Where each page of the project list begins. Pages are read one by one, so a page tells where the next one begins now. */

/** 40,000 projects: a list that goes on after that goes round in circles. */
export const LIST_PAGES_MAX = 100;

export interface ListPages {
  readonly count: number;
  /** Undefined: the beginning of the list. */
  cursorOf(page: number): string | undefined;
  /** What a page has shown; it may bring another page, move the next one or end the list. */
  note(page: number, end: PageEnd): void;
}

/** How a page ended. */
export interface PageEnd {
  readonly isEmpty: boolean;
  /** It has as many rows as were asked for, so another may follow. */
  readonly isFull: boolean;
  /** Where the next page begins. */
  readonly cursor: string | undefined;
}

export function createListPages(): ListPages {
  const cursors: (string | undefined)[] = [undefined];
  /** The page is full: one more may follow, even an empty one. */
  const areFull: boolean[] = [];

  return {
    get count() {
      return cursors.length;
    },
    cursorOf: (page) => cursors[page],
    note(page, { isEmpty, isFull, cursor }) {
      if (page >= cursors.length) return;
      areFull[page] = isFull;
      const follows = page + 1 < cursors.length;
      if (isEmpty && page > 0 && areFull[page - 1] !== true) truncate(page);
      // A short page with others behind it may be a partial answer: they stay until they turn out to be empty.
      else if (cursor === undefined || isEmpty) truncate(page + 1);
      else if (follows || (isFull && cursors.length < LIST_PAGES_MAX)) cursors[page + 1] = cursor;
    },
  };

  function truncate(count: number): void {
    cursors.length = Math.min(cursors.length, count);
    areFull.length = Math.min(areFull.length, count);
  }
}
