/**
 * When a project counts as gone. A 404 of its operations means deleted or no permission, and a list can be partial: so
 * both have to say so, several times and over some time. What a listing proves is decided for each project by itself.
 */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { ListingResult } from '../planner/listing.ts';

/** What is known of a project since the first 404 of its operations; a good answer ends it. */
export interface Absence {
  readonly firstNotFoundAtMs: number;
  readonly lastNotFoundAtMs: number;
  readonly notFoundCount: number;
  /** Listings in a row that began after the first 404 and do not show the project. */
  readonly absentCount: number;
  /** Those of them that leave no doubt. */
  readonly wholeAbsentCount: number;
  readonly lastAbsentAtMs: number | undefined;
  /** Listings that showed the project although its operations answer 404. */
  readonly listedCount: number;
  readonly lastListedAtMs: number | undefined;
}

/** Fewer 404s than these are an accident of the service, and no listing is read for them. */
const NOT_FOUND_COUNT_MIN = 3;

/** When listings leave no doubt: two of them, and 404s for as long as an alarm takes to see anything. */
const CERTAIN = { absentCount: 2, spanMs: MINUTE_MS } as const;

/** When each listing leaves a doubt: a row that cannot be read for one release of the service is one for hours, but not ours. */
export const DOUBTFUL = { absentCount: 3, spanMs: 10 * MINUTE_MS } as const;

/** Between two listings that leave a doubt: three of them cover the time in which the project has to be absent. */
const DOUBTFUL_LISTING_INTERVAL_MS = DOUBTFUL.spanMs / 2;

/** A project that is listed and answers 404 is asked about less and less often; an hour is often enough for an oddity. */
const LISTED_INTERVAL_MS_MAX = 60 * MINUTE_MS;

/** Of the rate limit, for all projects together that answer 404: in a large deletion they would crowd out the living. */
export const NOT_FOUND_SHARE_MAX = 0.2;

/** A fixed project that is gone is asked this often whether it is back. */
const GONE_INTERVAL_MS = 15 * MINUTE_MS;

/** `list`: the project list can be read. `none`: the projects are fixed, so the 404s alone have to do. */
export type Evidence = 'list' | 'none';

export function noteNotFound(known: Absence | undefined, nowMs: number): Absence {
  const first = {
    firstNotFoundAtMs: nowMs,
    notFoundCount: 0,
    absentCount: 0,
    wholeAbsentCount: 0,
    lastAbsentAtMs: undefined,
    listedCount: 0,
    lastListedAtMs: undefined,
  };
  const before = known ?? first;
  return { ...before, lastNotFoundAtMs: nowMs, notFoundCount: before.notFoundCount + 1 };
}

/** What a listing that is over says of one project. One that began before the first 404 says nothing. */
export function judgeByListing(
  absence: Absence,
  projectId: string,
  { listing, nowMs }: { readonly listing: ListingResult; readonly nowMs: number },
): Absence {
  if (listing.projectIds.has(projectId))
    return { ...noteShown(absence, nowMs), listedCount: absence.listedCount + 1 };
  if (listing.startedAtMs < absence.firstNotFoundAtMs) return absence;
  return {
    ...absence,
    absentCount: absence.absentCount + 1,
    wholeAbsentCount: absence.wholeAbsentCount + (isCertain(listing) ? 1 : 0),
    lastAbsentAtMs: nowMs,
  };
}

/** Some page shows the project: the listings without it have to begin anew. */
export function noteShown(absence: Absence, nowMs: number): Absence {
  return {
    ...absence,
    absentCount: 0,
    wholeAbsentCount: 0,
    lastAbsentAtMs: undefined,
    lastListedAtMs: nowMs,
  };
}

/** Both the 404s and the listings have covered the time that their certainty asks for. */
export function isGone(absence: Absence, evidence: Evidence): boolean {
  const { firstNotFoundAtMs, lastNotFoundAtMs, notFoundCount, absentCount, wholeAbsentCount } = absence;
  if (notFoundCount < NOT_FOUND_COUNT_MIN) return false;
  const spanMs = lastNotFoundAtMs - firstNotFoundAtMs;
  if (evidence === 'none') return spanMs >= DOUBTFUL.spanMs;
  if (wholeAbsentCount >= CERTAIN.absentCount && spanMs >= CERTAIN.spanMs) return true;
  const absentMs = (absence.lastAbsentAtMs ?? firstNotFoundAtMs) - firstNotFoundAtMs;
  return absentCount >= DOUBTFUL.absentCount && Math.min(spanMs, absentMs) >= DOUBTFUL.spanMs;
}

/** Whether another listing could decide something; one serves all projects that ask for it. */
export function asksForListing(absence: Absence, nowMs: number): boolean {
  if (absence.notFoundCount < NOT_FOUND_COUNT_MIN) return false;
  const { lastAbsentAtMs, lastListedAtMs, absentCount, wholeAbsentCount } = absence;
  if (lastAbsentAtMs !== undefined) {
    if (wholeAbsentCount >= CERTAIN.absentCount) return false;
    return absentCount === wholeAbsentCount || nowMs - lastAbsentAtMs >= DOUBTFUL_LISTING_INTERVAL_MS;
  }
  if (lastListedAtMs === undefined) return true;
  const intervalMs = Math.min(MINUTE_MS * 2 ** absence.listedCount, LISTED_INTERVAL_MS_MAX);
  return nowMs - lastListedAtMs >= intervalMs;
}

/**
 * A listing shows every project that was there: from then on a new one is news. A row that cannot be read may hide one of
 * them, so that the list is asked a few times more; a project that is unavailable is known all the same.
 */
export function provesFirstListing(listing: ListingResult, listingCount: number): boolean {
  const isComplete = listing.malformedRowCount === 0 && listing.end === 'end';
  return isComplete || listingCount >= DOUBTFUL.absentCount;
}

/** How long a project that answers 404 is left alone at least. */
export function restMs({
  notFoundProjectCount,
  requestsPerMinute,
  isKnownGone,
}: {
  readonly notFoundProjectCount: number;
  readonly requestsPerMinute: number;
  readonly isKnownGone: boolean;
}): number {
  const shareMs = (notFoundProjectCount * MINUTE_MS) / (NOT_FOUND_SHARE_MAX * requestsPerMinute);
  return isKnownGone ? Math.max(GONE_INTERVAL_MS, shareMs) : shareMs;
}

/** The service says itself that a list with unavailable projects is incomplete. */
function isCertain({ unavailableCount, malformedRowCount, end }: ListingResult): boolean {
  return unavailableCount === 0 && malformedRowCount === 0 && end === 'end';
}
