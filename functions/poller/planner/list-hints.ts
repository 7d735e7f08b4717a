/**
 * Keeps where each page of the project list begins and when it was read, says when the pages have shown the whole list, and measures how far
 * the list tells where something has happened: which share of the transitions moved the field `updated_at` of their project, and which share
 * of its moves were true.
 */

import type { FieldEvidence } from '../../../shared/records/account-status.ts';

/**
 * A list is read for at most this many pages: as many as projects, so that a list with one row per page is read to its
 * end, too.
 */
export const LIST_PAGES_MAX = 250_000;

/** After this many consecutive pages without a new project, the list is assumed to repeat itself. */
export const BARREN_PAGES_MAX = 100;

export interface ShownPage {
  readonly rows: readonly ProjectRow[];
  /** The service says that it could not list these projects in time. */
  readonly unavailableProjectIds: readonly string[];
  readonly malformedRowCount: number;
  /** The next page begins at this cursor. A page has one even when nothing follows. */
  readonly cursor: string | undefined;
}

/** This is the part of a row of the project list that can be a hint. */
export interface ProjectRow {
  readonly id: string;
  readonly updated_at?: unknown;
}

/**
 * Describes a reading of the whole list that has come to its end: every page was read since it began, each from where the one before it
 * ended, but for pages that could not be read.
 */
export interface Listing {
  /** Its first page was asked for at this time. */
  readonly startedAtMs: number;
  readonly unavailableCount: number;
  /** This many rows could not be read. A page that could not be read counts as one. */
  readonly malformedRowCount: number;
  /** `end` says that the list has ended. Every other value names the bound that was met before the end. */
  readonly end: 'end' | 'list_pages' | 'barren_pages';
}

/** Holds what the list has shown of one project. */
export interface ListedProject {
  /** The project stands on this page. It is -1 before a page has shown it. */
  page: number;
  /** The last value of the field. It is undefined before the list has shown one. */
  shownValue: unknown;
  /** The field has moved since the last poll that succeeded began. */
  hasMoved: boolean;
  /** The field moved while a poll was under way, which may have come too early or have seen why. */
  hasMovedMeanwhile: boolean;
  /** A poll found a transition at this time that the list had not shown. It is undefined when the list has shown all. */
  foundMs: number | undefined;
}

interface ListPage {
  cursor: string | undefined;
  /** The sum over its projects of the unseen transitions that the page would show, each times its age. The planner adds it up for each decision. */
  index: number;
  /** The last reading began at this time. It is -Infinity before the first one. */
  readMs: number;
  isBusy: boolean;
  /** The latest reading goes on with the listing under way, from where the page before ended. */
  isInListing: boolean;
  failureCount: number;
  /** After a failure, the page is not read before this time. */
  restMs: number;
}

export interface ProjectList {
  readonly pages: readonly ListPage[];
  /** Returns the share of transitions, from 0 to 1, that the list is expected to show now. */
  recall(): number;
  /** Counts the page as being read, and returns its cursor. */
  begin(place: number, nowMs: number): string | undefined;
  /**
   * Takes what a page showed. Marks the projects of which the field has moved. `shown` is undefined when the reading failed. Returns the
   * listing that has come to its end.
   */
  take(place: number, shown: ShownPage | undefined, nowMs: number): Listing | undefined;
  /** Learns from a poll of the project that has succeeded. */
  takePoll(project: ListedProject, foundTransition: boolean, nowMs: number): void;
  /** Returns from when on the page is read, whatever its projects are worth. */
  dueMs(place: number): number;
  /** Asks for a listing soon. The first one that is asked for begins at once. */
  ask(): void;
  /** Says whether a page is being read or will be next, because a listing is under way. */
  isUnderWay(): boolean;
  /** The clock was set back: pages and listings are due as much earlier. */
  setBack(byMs: number): void;
  evidence(): readonly FieldEvidence[];
  restore(evidence: readonly FieldEvidence[]): void;
}

export interface ListLimits {
  /** The list is read once in this time, or in a large account once in at most five times it. */
  readonly usualIntervalMs: number;
  /** The list is read for its hints as well. */
  readonly hasHints: boolean;
  readonly requestsPerMinute: number;
  /** Returns how long a page rests after so many consecutive failures. */
  readonly backoffMs: (failureCount: number) => number;
}

const FIELD = 'updated_at';

/** Older evidence fades beyond this many transitions, so that a service that changes is believed after about as many new ones. */
const EVIDENCE_COUNT_MAX = 400;

/** Before it has shown a transition, the field is expected to miss this share of them. So it is tried, and costs little while nothing happens. */
const UNTRIED_MISS = 0.8;

/**
 * A false alarm costs a request, so the field is no longer believed once it is wrong this many times as often as right. With 500 projects and 8 false
 * alarms for each transition the mean delay is 0.36 s, and 6.2 s when the field is not believed; with 20 it is 0.68 and 6.6 s. Where ten times as much
 * happens, so that there are more alarms than permits, it is 4.7 and 5.6 s with 8, and 10.8 and 6.3 s with 20.
 */
const FALSE_ALARMS_PER_HIT_MAX = 30;
const HITS_ASSUMED = 10;

/** Listings that look for new projects alone get this share of the rate limit. A list of 5,000 projects has 13 pages. */
const LISTING_SHARE_MAX = 0.005;

/** Listings that are asked for get this share of the rate limit. */
const ASKED_SHARE_MAX = 0.05;

/** A new project never waits longer than this many usual intervals until the list is read. */
const LISTING_DELAY_MAX = 5;

export const UNLISTED: ListedProject = {
  page: -1,
  shownValue: undefined,
  hasMoved: false,
  hasMovedMeanwhile: false,
  foundMs: undefined,
};

/** `projectOf` returns the project of this id when it is polled. */
export function createProjectList(
  { usualIntervalMs, hasHints, requestsPerMinute, backoffMs }: ListLimits,
  projectOf: (id: string) => (ListedProject & { readonly isBusy: boolean }) | undefined,
): ProjectList {
  const pages: ListPage[] = [];
  const counts = { found: 0, missed: 0, moves: 0 };
  let listing = beginning(Number.NEGATIVE_INFINITY);
  let isAskedFor = false;

  return {
    pages,
    recall() {
      const isBelieved = counts.moves <= FALSE_ALARMS_PER_HIT_MAX * Math.max(HITS_ASSUMED, counts.found);
      if (
        !hasHints ||
        !isBelieved ||
        pages.length === 0 ||
        pages.some(({ failureCount }) => failureCount > 0)
      )
        return 0;
      const { found, missed } = counts;
      // A field that has never missed a transition probably shows all: what it is expected to miss shrinks with the square of the evidence.
      if (missed < 0.5) return 1 - UNTRIED_MISS / (found + 1) ** 2;
      return (found + 1) / (found + missed + 2);
    },
    begin,
    take(place, shown, nowMs) {
      if (place > 0 && place >= pages.length) return undefined;
      pages[place] ??= newPage(undefined);
      const page = pages[place];
      if (!page.isBusy) begin(place, nowMs);
      page.isBusy = false;
      page.failureCount = shown === undefined ? page.failureCount + 1 : 0;
      page.restMs = shown === undefined ? nowMs + Math.min(backoffMs(page.failureCount), usualIntervalMs) : 0;
      if (shown === undefined) {
        page.readMs = Number.NEGATIVE_INFINITY;
        if (page.isInListing && page.failureCount > 1) passOver(place);
        return undefined;
      }
      const isBarren = shown.rows.every(({ id }) => standsBefore(place, projectOf(id)));
      for (const row of shown.rows) takeRow(place, row, page.readMs);
      followList(place, shown);
      if (page.isInListing) goOn(shown, isBarren);
      // A page that ends the list also ends a listing that has come further.
      if (listing.place < pages.length) return undefined;
      const ended = listing;
      listing = beginning(ended.startedAtMs);
      return ended;
    },
    takePoll(project, foundTransition, nowMs) {
      const { hasMoved, hasMovedMeanwhile } = project;
      if (foundTransition && (hasMoved || hasMovedMeanwhile)) note(true);
      else if (foundTransition) project.foundMs ??= nowMs;
      // What moved while the poll was under way asks for one more.
      project.hasMoved = hasMovedMeanwhile;
      project.hasMovedMeanwhile = false;
    },
    dueMs,
    ask() {
      pages[0] ??= newPage(undefined);
      isAskedFor = true;
    },
    isUnderWay: () =>
      pages.some(({ isBusy }) => isBusy) || (listing.place > 0 && pages[listing.place]?.failureCount === 0),
    setBack(byMs) {
      listing.startedAtMs -= byMs;
      for (const page of pages) {
        page.readMs -= byMs;
        page.restMs -= byMs;
      }
    },
    evidence: () => [
      {
        name: FIELD,
        recall: { foundCount: counts.found, missedCount: counts.missed },
        hitCount: counts.found,
        moveCount: counts.moves,
      },
    ],
    restore(evidence) {
      const known = evidence.find(({ name }) => name === FIELD);
      if (known === undefined) return;
      const { recall, moveCount: moves } = known;
      Object.assign(counts, { found: recall.foundCount, missed: recall.missedCount, moves });
    },
  };

  function begin(place: number, nowMs: number): string | undefined {
    const page = pages[place] as ListPage;
    page.isBusy = true;
    page.readMs = nowMs;
    page.isInListing = place === listing.place && nowMs >= dueMs(place);
    if (page.isInListing && place === 0) {
      listing = beginning(nowMs);
      isAskedFor = false;
    }
    return page.cursor;
  }

  function dueMs(place: number): number {
    // A page that could not be read is tried again after its rest.
    if ((pages[place]?.failureCount ?? 0) > 0) return Number.NEGATIVE_INFINITY;
    if (place !== listing.place) return Number.POSITIVE_INFINITY;
    if (place > 0) return Number.NEGATIVE_INFINITY;
    const share = isAskedFor ? ASKED_SHARE_MAX : LISTING_SHARE_MAX;
    const affordableMs = (pages.length * 60_000) / (share * requestsPerMinute);
    const intervalMs = Math.min(Math.max(usualIntervalMs, affordableMs), LISTING_DELAY_MAX * usualIntervalMs);
    return listing.startedAtMs + intervalMs;
  }

  /**
   * The upstream fails at a row of the page, or refuses the cursor at which the page begins. The listing goes on with the page behind it, if an
   * earlier listing has shown one. If there is none, or the first page fails and perhaps the whole list does, the listing begins anew.
   */
  function passOver(place: number): void {
    if (place === 0 || place + 1 >= pages.length) listing = beginning(Number.NEGATIVE_INFINITY);
    else {
      listing.place += 1;
      listing.malformedRowCount += 1;
    }
  }

  function goOn({ unavailableProjectIds, malformedRowCount }: ShownPage, isBarren: boolean): void {
    listing.place += 1;
    listing.unavailableCount += unavailableProjectIds.length;
    listing.malformedRowCount += malformedRowCount;
    listing.barrenCount = isBarren ? listing.barrenCount + 1 : 0;
    if (listing.place === pages.length) return;
    if (listing.place >= LIST_PAGES_MAX) listing.end = 'list_pages';
    else if (listing.barrenCount >= BARREN_PAGES_MAX) listing.end = 'barren_pages';
    if (listing.end !== 'end') pages.length = listing.place;
  }

  function takeRow(place: number, row: ProjectRow, beganMs: number): void {
    const project = projectOf(row.id);
    if (project === undefined) return;
    const value = row[FIELD];
    project.page = place;
    const hasMoved = project.shownValue !== undefined && value !== undefined && value !== project.shownValue;
    project.shownValue = value ?? project.shownValue;
    // A reading that began after a poll shows what the poll has found, or the list does not show it at all.
    if (project.foundMs !== undefined && (hasMoved || beganMs >= project.foundMs)) {
      note(hasMoved);
      project.foundMs = undefined;
    }
    if (!hasMoved) return;
    counts.moves += 1;
    if (project.isBusy) project.hasMovedMeanwhile = true;
    else project.hasMoved = true;
  }

  function note(wasShown: boolean): void {
    counts[wasShown ? 'found' : 'missed'] += 1;
    if (counts.found + counts.missed <= EVIDENCE_COUNT_MAX) return;
    for (const name of ['found', 'missed', 'moves'] as const) counts[name] /= 2;
  }

  /** A page that begins where this one or an earlier one begins would show the same rows again. */
  function followList(
    place: number,
    { rows, unavailableProjectIds, malformedRowCount, cursor }: ShownPage,
  ): void {
    const isEmpty = rows.length + unavailableProjectIds.length + malformedRowCount === 0;
    const leadsBack = pages.slice(0, place + 1).some((each) => each.cursor === cursor);
    // The empty page stays: the next project will stand on it.
    if (isEmpty || cursor === undefined || leadsBack) pages.length = place + 1;
    else {
      pages[place + 1] ??= newPage(cursor);
      const next = pages[place + 1] as ListPage;
      // What is being read there begins somewhere else.
      if (next.cursor !== cursor) next.isInListing = false;
      next.cursor = cursor;
    }
  }
}

/** Returns a listing that has shown nothing yet. `place` is that of its next page. */
function beginning(startedAtMs: number) {
  const counts = { place: 0, unavailableCount: 0, malformedRowCount: 0, barrenCount: 0 };
  return { startedAtMs, ...counts, end: 'end' as Listing['end'] };
}

/** Says whether an earlier page has shown the project. */
function standsBefore(place: number, { page = -1 }: Partial<ListedProject> = {}): boolean {
  return page >= 0 && page < place;
}

function newPage(cursor: string | undefined): ListPage {
  return {
    cursor,
    index: 0,
    readMs: Number.NEGATIVE_INFINITY,
    isBusy: false,
    isInListing: false,
    failureCount: 0,
    restMs: 0,
  };
}

/** Returns the page that is due, or else the one that is worth most. The list is never read when `listIntervalMs` is undefined. */
export function bestPageOf(list: ProjectList, listIntervalMs: number | undefined, nowMs: number) {
  let [place, index, untilMs] = [-1, -1, Number.POSITIVE_INFINITY];
  if (listIntervalMs === undefined) return { place, index, untilMs };
  for (const [each, page] of list.pages.entries()) {
    if (page.isBusy) continue;
    const dueMs = list.dueMs(each);
    const hintMs = page.index > 0 ? page.readMs + listIntervalMs : Number.POSITIVE_INFINITY;
    const readyMs = Math.max(page.restMs, Math.min(dueMs, hintMs));
    const worth = nowMs >= dueMs ? Number.MAX_VALUE : page.index;
    if (nowMs < readyMs) untilMs = Math.min(untilMs, readyMs);
    else if (worth > index) [place, index] = [each, worth];
  }
  return { place, index, untilMs };
}
