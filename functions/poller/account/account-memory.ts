/**
 * Describes what a warm environment keeps of an account between invocations. Losing it costs requests and reads,
 * never data.
 */

import type { RelayReport } from '../../../shared/protocol/relay-records.ts';
import type { Listing } from '../planner/list-hints.ts';
import { type KnownProjects, noKnownProjects } from './discovery/known-projects.ts';
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
  /** A listing has come to its end. */
  hasEnded: boolean;
  /** This listing has come to its end, and the table does not know yet. It is undefined when there is none. */
  ended: Listing | undefined;
  /** This many listings have come to their end. */
  count: number;
  /** The list of projects was read as a whole once, so a project that appears is news. */
  hasReadWholeList: boolean;
}

export function noListings(): Listings {
  return { hasEnded: false, ended: undefined, count: 0, hasReadWholeList: false };
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
