/**
 * Describes one reading of the whole project list, page by page: what it has shown so far, where it goes on, and how
 * it ended.
 */

import { LIST_PAGES_MAX } from '../../planner/list-hints.ts';

/**
 * At most this many projects of an account are polled. A process with 200,000 of them takes 0.6 GB, and a function may
 * have three.
 */
export const PROJECTS_MAX = 250_000;

/** After this many consecutive pages without a new project, the list is assumed to repeat itself. */
export const BARREN_PAGES_MAX = 100;

export interface ListingPage {
  readonly projectIds: readonly string[];
  /** The service says that it could not list these projects in time. */
  readonly unavailableProjectIds: readonly string[];
  readonly malformedRowCount: number;
  /** The next page begins at this cursor. A page has one even when nothing follows. */
  readonly cursor: string | undefined;
}

/** `end` says that the list has ended. Every other value names the bound that was met before the end. */
type ListingEnd = 'end' | 'projects' | 'list_pages' | 'barren_pages';

/** Says what a listing has shown that is complete or has met a bound. */
export interface ListingResult {
  readonly startedAtMs: number;
  readonly projectIds: ReadonlySet<string>;
  readonly unavailableCount: number;
  readonly malformedRowCount: number;
  readonly end: ListingEnd;
}

export interface Listing {
  readonly startedAtMs: number;
  readonly pageCount: number;
  /** The next page begins here. It is undefined before the first page. */
  readonly cursor: string | undefined;
  take(page: ListingPage): void;
  /** Returns undefined while there is more to read. */
  result(): ListingResult | undefined;
}

export function createListing(startedAtMs: number): Listing {
  const projectIds = new Set<string>();
  let cursor: string | undefined;
  let pageCount = 0;
  let barrenCount = 0;
  let unavailableCount = 0;
  let malformedRowCount = 0;
  let end: ListingEnd | undefined;

  return {
    startedAtMs,
    get pageCount() {
      return pageCount;
    },
    get cursor() {
      return cursor;
    },
    take(page) {
      const sizeBefore = projectIds.size;
      for (const id of [...page.projectIds, ...page.unavailableProjectIds]) projectIds.add(id);
      pageCount += 1;
      unavailableCount += page.unavailableProjectIds.length;
      malformedRowCount += page.malformedRowCount;
      const isBarren = projectIds.size === sizeBefore;
      barrenCount = isBarren ? barrenCount + 1 : 0;
      const isOver = page.cursor === undefined || isEmpty(page) || (isBarren && page.cursor === cursor);
      end = isOver ? 'end' : boundMet();
      cursor = page.cursor;
    },
    result() {
      return end && { startedAtMs, projectIds, unavailableCount, malformedRowCount, end };
    },
  };

  function boundMet(): ListingEnd | undefined {
    if (projectIds.size > PROJECTS_MAX) return 'projects';
    if (pageCount >= LIST_PAGES_MAX) return 'list_pages';
    return barrenCount >= BARREN_PAGES_MAX ? 'barren_pages' : undefined;
  }
}

function isEmpty({ projectIds, unavailableProjectIds, malformedRowCount }: ListingPage): boolean {
  return projectIds.length + unavailableProjectIds.length + malformedRowCount === 0;
}
