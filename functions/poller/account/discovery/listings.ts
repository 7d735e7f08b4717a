/** The readings of the whole project list: which one is under way, and when the next one is due. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Listing } from '../../planner/project-list/listing.ts';
import type { KnownProjects } from './known-projects.ts';
import { isEvidenceWanted } from './lose-projects.ts';

/** What a warm environment keeps of the listings of its account. */
export interface Listings {
  /** It may take several invocations. */
  underWay: Listing | undefined;
  /** Whether pages of it are being read at the moment. */
  isBeingRead: boolean;
  /** When a page of a listing could not be read. */
  failedAtMs: number | undefined;
  /** When the latest listing came to its end; undefined: none has. */
  endedAtMs: number | undefined;
  /** For how long the latest listing was being read. */
  durationMs: number;
  /** For how long the listing under way has been read so far. */
  readingMs: number;
  /** How many have come to their end. */
  count: number;
  /** The list was read as a whole once, so a project that appears is new. */
  areSightingsNews: boolean;
}

export function noListings(): Listings {
  return {
    underWay: undefined,
    isBeingRead: false,
    failedAtMs: undefined,
    endedAtMs: undefined,
    durationMs: 0,
    readingMs: 0,
    count: 0,
    areSightingsNews: false,
  };
}

/** Listings take at most a third of the time, so that those of a large account leave the limit to its polls. */
const REST_PER_LISTING = 2;

export interface ListingSchedule {
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: ListingIntervals;
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface ListingIntervals {
  /** Between two readings of the whole project list, while one is needed; otherwise its pages have turns of their own. */
  readonly discoveryIntervalMs: number;
}

/** A listing that the end of an invocation has cut goes on in the next one. */
export function isListingDue(
  { clock, limits, fixedProjectIds }: ListingSchedule,
  listings: Listings,
  projects: KnownProjects,
): boolean {
  const { endedAtMs, failedAtMs = Number.NEGATIVE_INFINITY } = listings;
  const { discoveryIntervalMs } = limits;
  if (endedAtMs === undefined) return true;
  const nowMs = clock.now();
  if (fixedProjectIds !== undefined || nowMs - failedAtMs < discoveryIntervalMs) return false;
  if (listings.underWay !== undefined) return true;
  const restMs = Math.max(discoveryIntervalMs, REST_PER_LISTING * listings.durationMs);
  if (nowMs - endedAtMs < restMs) return false;
  return !listings.areSightingsNews || isEvidenceWanted(projects, nowMs);
}
