/**
 * Describes what a warm environment keeps of an account between invocations. Losing it costs requests and reads,
 * never data.
 */

import type { RelayReport } from '../../../shared/protocol/relay-records.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type KnownProjects, noKnownProjects } from './discovery/known-projects.ts';
import type { Listing } from './discovery/listing.ts';
import { isEvidenceWanted } from './discovery/lose-projects.ts';
import { noReadings, type ProjectReadings } from './status/project-readings.ts';
import { type AccountHealth, unknownHealth } from './status/publish-health.ts';
import type { StatusMemory } from './status/publish-status.ts';

export interface AccountMemory {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly readings: ProjectReadings;
  readonly health: AccountHealth;
  readonly status: StatusMemory;
  /** The bus was sent entries of these records and did not say that it took them. */
  readonly triedRecords: Set<string>;
  /** It is true when nothing of the account's first reading is to be published any more. */
  isFirstSightPublished: boolean;
}

export function emptyAccountMemory(): AccountMemory {
  return {
    projects: noKnownProjects(),
    listings: noListings(),
    readings: noReadings(),
    health: unknownHealth(),
    status: { stored: undefined, writtenAtMs: undefined },
    triedRecords: new Set(),
    isFirstSightPublished: false,
  };
}

/** A warm environment keeps this of the listings of its account. */
export interface Listings {
  /** One listing may take several invocations. It is undefined when none is under way. */
  underWay: Listing | undefined;
  /** It is true while pages of the listing under way are being read. */
  isBeingRead: boolean;
  /** A page of a listing last failed at this time. It is undefined when none has. */
  failedAtMs: number | undefined;
  /** The latest listing came to its end at this time. It is undefined when none has. */
  endedAtMs: number | undefined;
  /** The latest listing was read for this long. */
  durationMs: number;
  /** The listing under way has been read for this long so far. */
  readingMs: number;
  /** This many listings have come to their end. */
  count: number;
  /** The list of projects was read as a whole once, so a project that appears is news. */
  hasReadWholeList: boolean;
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
    hasReadWholeList: false,
  };
}

/**
 * After a reading of the whole project list, the next one begins at the earliest after a rest of this many times the
 * duration of the reading. Otherwise the lists of a large account would use up its rate limit, which its polls need.
 */
const REST_PER_LISTING = 2;

export interface ListingSchedule {
  readonly clock: Clock;
  readonly limits: ListingIntervals;
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface ListingIntervals {
  /**
   * Two readings of the whole project list are at least this far apart while listings are needed. At other times only
   * its pages are read, in their own turns.
   */
  readonly discoveryIntervalMs: number;
}

/** Says whether a listing is due. One that the end of an invocation has interrupted goes on in the next invocation. */
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
  return !listings.hasReadWholeList || isEvidenceWanted(projects, nowMs);
}

export interface InvocationCounts {
  pollCount: number;
  recordedCount: number;
  /** The bus has accepted this many events. */
  publishedCount: number;
}

export function noCounts(): InvocationCounts {
  return { pollCount: 0, recordedCount: 0, publishedCount: 0 };
}

export function countPoll(
  counts: InvocationCounts,
  poll: { readonly recordedCount: number; readonly relay: RelayReport },
): void {
  counts.pollCount += 1;
  counts.recordedCount += poll.recordedCount;
  counts.publishedCount += poll.relay.publishedCount;
}
