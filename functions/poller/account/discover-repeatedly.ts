/** Reads the whole project list whenever that is needed. Its pages have turns of their own as well. */

import type { AccountMemory } from './account-memory.ts';
import { type DiscoveryDeps, discoverProjects } from './discovery/discover-projects.ts';
import type { Discovery } from './discovery/discovery.ts';
import { isListingDue, type ListingSchedule } from './discovery/listings.ts';
import { type HealthDeps, publishRecovery, shownByList } from './status/publish-health.ts';
import { surviveFailure } from './survive-failure.ts';

/** Hardly a project is known before the first listing, so a failed listing is tried again after this short time. */
const DISCOVERY_LOOK_MS = 5_000;

export interface DiscoveryLoopDeps extends DiscoveryDeps, HealthDeps {
  readonly store: DiscoveryDeps['store'] & HealthDeps['store'];
  readonly clock: DiscoveryDeps['clock'];
  readonly limits: DiscoveryDeps['limits'] & HealthDeps['limits'] & ListingSchedule['limits'];
}

export async function discoverRepeatedly(
  deps: DiscoveryLoopDeps,
  { health, listings, projects }: Pick<AccountMemory, 'health' | 'listings' | 'projects'>,
  discovery: Discovery,
): Promise<void> {
  const { clock, signal } = deps;
  const discover = async () => {
    await discoverProjects(deps, discovery);
    await publishRecovery(deps, health, shownByList(projects));
  };
  while (!signal.aborted) {
    if (!health.isKeyRejected && isListingDue(deps, listings, projects))
      await surviveFailure(deps, health, discover);
    await clock.sleep(DISCOVERY_LOOK_MS, signal).catch(() => {});
  }
}
