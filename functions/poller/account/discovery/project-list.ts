/**
 * Reads the whole project list when it is needed: at first to know the projects, and later as evidence of which are
 * gone.
 */

import { earlierNowMs } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../../../shared/store/bridge-store.ts';
import type { UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import { LIST_PAGES_MAX } from '../../planner/list-hints.ts';
import type { PollPlanner } from '../../planner/poll-planner.ts';
import { type AccountMemory, isListingDue, type ListingSchedule, type Listings } from '../account-memory.ts';
import { type HealthDeps, publishRecovery, shownByList, surviveFailure } from '../status/publish-health.ts';
import type { BoundReports } from '../status/report-bound.ts';
import {
  addAwaited,
  addProjects,
  fetchListPage,
  type ListPageDeps,
  type ReadPage,
  type SightingDeps,
} from './list-page.ts';
import { BARREN_PAGES_MAX, createListing, type ListingResult, PROJECTS_MAX } from './listing.ts';
import { judgeMissingProjects, type LossDeps } from './lose-projects.ts';
import { bootAccount, type Discovery, recordFirstListing } from './origin.ts';

export interface DiscoveryDeps extends ListPageDeps, SightingDeps, LossDeps {
  readonly upstream: UpstreamClient;
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly planner: PollPlanner;
}

export async function discoverProjects(deps: DiscoveryDeps, discovery: Discovery): Promise<void> {
  const result =
    deps.fixedProjectIds === undefined
      ? await measureReading(deps, discovery.listings, () => readListing(deps, discovery))
      : await takeFixedProjects(deps, discovery, deps.fixedProjectIds);
  if (result !== undefined) await endListing(deps, discovery, result);
}

/** Counts only the time in which a listing is read, because a night or a month may lie between two invocations. */
async function measureReading<T>(
  { clock }: DiscoveryDeps,
  listings: Listings,
  read: () => Promise<T>,
): Promise<T> {
  const fromMs = clock.now();
  listings.isBeingRead = true;
  try {
    return await read();
  } finally {
    listings.isBeingRead = false;
    listings.readingMs += clock.now() - fromMs;
  }
}

/**
 * Takes the projects that the configuration lists. Resolves to undefined when the invocation was stopped before all
 * were added.
 */
async function takeFixedProjects(
  deps: DiscoveryDeps,
  discovery: Discovery,
  projectIds: readonly string[],
): Promise<ListingResult | undefined> {
  const startedAtMs = deps.clock.now();
  const readAtMs = await firstReadAtMs(deps, projectIds);
  await bootAccount(deps, discovery.origin, discovery.listings, readAtMs);
  const nothing = { unavailableProjectIds: [], malformedRowCount: 0, cursor: undefined };
  const page = { ...nothing, projectIds, readAtMs, createdAtOf: new Map<string, string>() };
  if (!(await addProjects(deps, discovery, page))) return undefined;
  const listing = createListing(startedAtMs);
  listing.take(page);
  return listing.result();
}

/**
 * No list shows these projects, so the upstream's clock comes from the operations of the first project that can be
 * read.
 */
async function firstReadAtMs(
  { upstream, clock, signal }: DiscoveryDeps,
  projectIds: readonly string[],
): Promise<number> {
  for (const projectId of projectIds) {
    const requestedMs = clock.now();
    try {
      const page = await upstream.listOperations({ projectId, limit: 1 }, { signal });
      return earlierNowMs({ requestedMs, serverDateMs: page.serverDateMs });
    } catch (error) {
      const kind = isUpstreamError(error) ? error.kind : undefined;
      if (kind !== 'not_found' && kind !== 'forbidden') throw error;
    }
  }
  // The bridge's own clock has to do when none of the projects can be seen.
  return clock.now();
}

/** Resolves to undefined when the invocation was stopped before the end of the list. */
async function readListing(deps: DiscoveryDeps, discovery: Discovery): Promise<ListingResult | undefined> {
  const { clock, planner, signal } = deps;
  const { listings, origin } = discovery;
  const listing = listings.underWay ?? createListing(clock.now());
  listings.underWay = listing;
  for (let result = listing.result(); result === undefined; result = listing.result()) {
    const page = await readPage(deps, listings, listing.cursor);
    if (signal.aborted) return undefined;
    if (listing.pageCount === 0) await bootAccount(deps, origin, listings, page.readAtMs);
    if (!(await addProjects(deps, discovery, page))) return undefined;
    planner.reportPage(listing.pageCount, page, clock.now());
    listing.take(page);
  }
  return listing.result();
}

/** A stored cursor that the upstream refuses must not hold the listing up for ever: the next one starts anew. */
async function readPage(
  deps: ListPageDeps,
  listings: Listings,
  cursor: string | undefined,
): Promise<ReadPage> {
  try {
    return await fetchListPage(deps, cursor);
  } catch (error) {
    const kind = isUpstreamError(error) ? error.kind : undefined;
    if (kind === 'rejected') listings.underWay = undefined;
    // The end of an invocation is no failure of the list.
    if (kind !== 'cancelled') listings.failedAtMs = deps.clock.now();
    throw error;
  }
}

async function endListing(deps: DiscoveryDeps, discovery: Discovery, listing: ListingResult): Promise<void> {
  const { projects, listings, origin } = discovery;
  // When the table fails here, the same listing is recorded a moment later. Until then a new project does not count
  // as news.
  await recordFirstListing(deps, origin, { listings, listing, count: listings.count + 1 });
  const isFirst = listings.endedAtMs === undefined;
  if (isFirst && !(await addUnlisted(deps, discovery, listing))) return;
  listings.underWay = undefined;
  listings.count += 1;
  listings.durationMs = listings.readingMs;
  listings.readingMs = 0;
  listings.endedAtMs = deps.clock.now();
  reportEnd(deps.bounds, listing);
  if (isFirst) deps.telemetry.log('info', 'projects.listed', { project_count: listing.projectIds.size });
  await judgeMissingProjects(deps, projects, listing);
}

/**
 * An earlier process has known these projects, and the first listing of this one lacks them. They are polled as any other, so that one which
 * was deleted while no process ran is found gone. Resolves to false when the invocation was stopped before every project was added.
 */
async function addUnlisted(
  deps: DiscoveryDeps,
  discovery: Discovery,
  { projectIds, end }: ListingResult,
): Promise<boolean> {
  const { names, store, clock, fixedProjectIds } = deps;
  if (fixedProjectIds !== undefined || end !== 'end') return true;
  const unlisted = (await names.storedIds()).filter((id) => !projectIds.has(id));
  if (unlisted.length === 0) return true;
  const records = await store.readProjects(unlisted);
  const visible = unlisted.filter((id) => {
    const record = records.get(id);
    return record !== undefined && record !== 'unreadable' && record.is_visible;
  });
  const page = { projectIds: visible, unavailableProjectIds: [], createdAtOf: new Map<string, string>() };
  return addProjects(deps, discovery, { ...page, readAtMs: clock.now() });
}

function reportEnd(bounds: BoundReports, { end }: ListingResult): void {
  const values = { list_pages: LIST_PAGES_MAX, barren_pages: BARREN_PAGES_MAX, projects: PROJECTS_MAX };
  if (end !== 'end') bounds.report(end, values[end]);
}

/** Few projects are known before the first listing, so a failed listing is tried again after this short time. */
const DISCOVERY_LOOK_MS = 5_000;

export interface DiscoveryLoopDeps extends DiscoveryDeps, HealthDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly limits: DiscoveryDeps['limits'] & HealthDeps['limits'] & ListingSchedule['limits'];
}

export async function discoverRepeatedly(
  deps: DiscoveryLoopDeps,
  { health, listings, projects }: AccountMemory,
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
    else await surviveFailure(deps, health, () => addAwaited(deps, discovery));
    await clock.sleep(DISCOVERY_LOOK_MS, signal).catch(() => {});
  }
}
