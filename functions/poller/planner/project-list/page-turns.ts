/** The turns of the pages of the project list: how many there are, where each begins, and how often each is read. */

import { newTurn, type Turn } from '../queues/turn.ts';
import { createPageCursors, type PageEnd } from './page-cursors.ts';

export interface PageTurns {
  readonly turns: readonly Turn[];
  /** Undefined: the beginning of the list. */
  cursorOf(page: number): string | undefined;
  /** Follows a page that was read: it may have shown that there are more pages, or fewer. */
  take(page: number, end: PageEnd): ListChange;
  /** Milliseconds between two readings of a page at most, while no other turn has to come first. */
  intervalMs(): number;
}

interface ListChange {
  readonly added: readonly Turn[];
  readonly gone: readonly Turn[];
}

export interface ListingLimits {
  /** Each page is read once in this time, or in a large account once in at most five times it: a new project is found by then. */
  readonly intervalMsMax: number;
  /** Two readings of a page for its hints are at least this far apart; undefined: the list gives no hints. */
  readonly hintIntervalMsMin: number | undefined;
}

/** The share of the rate limit for pages that give no hints. A list of 5,000 projects has 13 pages. */
const LISTING_SHARE_MAX = 0.005;

/** A new project never waits longer than this many usual intervals until its page is read. */
const LISTING_DELAY_MAX = 5;

const NO_CHANGE: ListChange = { added: [], gone: [] };

/** `listing`, undefined: the project list is never read. */
export function createPageTurns(listing: ListingLimits | undefined, requestsPerMinute: number): PageTurns {
  const pages = createPageCursors();
  const turns: Turn[] = [];

  return {
    turns,
    cursorOf: (page) => pages.cursorOf(page),
    take(page, end) {
      pages.take(page, end);
      return listing === undefined ? NO_CHANGE : followPages();
    },
    intervalMs() {
      if (listing === undefined) return Number.POSITIVE_INFINITY;
      // New projects are rare: looking for them is worth a small part of the limit, however many pages there are.
      const affordableMs = (pages.count * 60_000) / (LISTING_SHARE_MAX * requestsPerMinute);
      const usualMs = listing.intervalMsMax;
      return Math.min(Math.max(usualMs, affordableMs), LISTING_DELAY_MAX * usualMs);
    },
  };

  /** Adds or drops turns, so that there are as many as the list has pages. */
  function followPages(): ListChange {
    const gone = turns.splice(pages.count);
    const addedCount = pages.count - turns.length;
    const added = Array.from({ length: addedCount }, (_, place) => pageTurn(turns.length + place));
    turns.push(...added);
    return { added, gone };
  }
}

function pageTurn(page: number): Turn {
  return newTurn(`(page ${page} of the project list)`, 0, page);
}
