/** Keeps one turn for each page of the project list, and derives how often each page is read. */

import { newTurn, type Turn } from '../queues/turn.ts';
import type { TurnSlots } from '../queues/turn-slots.ts';
import { createPageCursors, type PageEnd } from './page-cursors.ts';

export interface PageTurns {
  readonly turns: readonly Turn[];
  /** Returns undefined for the beginning of the list. */
  cursorOf(page: number): string | undefined;
  /** Follows a page that was read: it may have shown that there are more pages, or fewer. */
  take(page: number, end: PageEnd): ListChange;
  /** Returns the longest time between two readings of a page while no other turn has to come first, in milliseconds. */
  intervalMs(): number;
}

interface ListChange {
  readonly added: readonly Turn[];
  readonly gone: readonly Turn[];
}

export interface ListingLimits {
  /**
   * Each page is read once in this time, or in a large account once in at most five times it. A new project is found
   * by then.
   */
  readonly intervalMsMax: number;
  /** Two readings of a page for its hints are at least this far apart. It is undefined when the list gives no hints. */
  readonly hintIntervalMsMin: number | undefined;
}

/** Pages that give no hints get this share of the rate limit. A list of 5,000 projects has 13 pages. */
const LISTING_SHARE_MAX = 0.005;

/** A new project never waits longer than this many usual intervals until its page is read. */
const LISTING_DELAY_MAX = 5;

const NO_CHANGE: ListChange = { added: [], gone: [] };

/** `listing` is undefined when the project list is never read. */
export function createPageTurns(
  listing: ListingLimits | undefined,
  requestsPerMinute: number,
  slots: TurnSlots,
): PageTurns {
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
      // New projects are rare, so looking for them is worth a small share of the limit, however many pages there are.
      const affordableMs = (pages.count * 60_000) / (LISTING_SHARE_MAX * requestsPerMinute);
      const usualMs = listing.intervalMsMax;
      return Math.min(Math.max(usualMs, affordableMs), LISTING_DELAY_MAX * usualMs);
    },
  };

  /** Adds or drops turns, so that the list has one turn per page. */
  function followPages(): ListChange {
    const gone = turns.splice(pages.count);
    for (const { slot } of gone) slots.free(slot);
    const addedCount = pages.count - turns.length;
    const added = Array.from({ length: addedCount }, (_, index) =>
      pageTurn(slots.take(), turns.length + index),
    );
    turns.push(...added);
    return { added, gone };
  }
}

function pageTurn(slot: number, page: number): Turn {
  return newTurn(slot, `(page ${page} of the project list)`, 0, page);
}
