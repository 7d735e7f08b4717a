/**
 * Describes what a warm environment keeps of an account between invocations. Losing it costs requests and reads,
 * never data.
 */

import { type KnownProjects, noKnownProjects } from './discovery/known-projects.ts';
import { type Listings, noListings } from './discovery/listings.ts';
import type { CommandCount } from './sending/share-with-commands.ts';
import { noReadings, type ProjectReadings } from './status/project-readings.ts';
import { type AccountHealth, unknownHealth } from './status/publish-health.ts';
import type { StatusMemory } from './status/publish-status.ts';

export interface AccountMemory {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly readings: ProjectReadings;
  readonly health: AccountHealth;
  readonly commands: CommandCount;
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
    commands: { sentCount: undefined },
    status: { stored: undefined, writtenAtMs: undefined },
    triedRecords: new Set(),
    isFirstSightPublished: false,
  };
}
