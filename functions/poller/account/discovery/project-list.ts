/**
 * Reads a page of the project list in its turn: at first to know the projects, then to find new ones and those that have changed, and as
 * evidence of which are gone. Takes the projects that the configuration names, where it names them.
 */

import { earlierNowMs } from '../../../../shared/records/time.ts';
import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import { BARREN_PAGES_MAX, LIST_PAGES_MAX, type Listing } from '../../planner/list-hints.ts';
import type { PollDecision } from '../../planner/poll-planner.ts';
import type { InvocationDeps } from '../account-deps.ts';
import type { AccountMemory } from '../account-memory.ts';
import { publishRecovery, shownByList, surviveFailure } from '../status/publish-health.ts';
import { addAwaited, addProjects, fetchListPage, type ReadPage } from './list-page.ts';
import { judgeMissingProjects, restartAbsences } from './lose-projects.ts';
import { bootAccount, type Discovery, recordFirstListing } from './origin.ts';

/** No page removes a project: only a whole listing is evidence of what is gone. */
export async function readListPage(
  deps: InvocationDeps,
  discovery: Discovery,
  { page, cursor }: PollDecision & { kind: 'list' },
  permit: Permit,
): Promise<void> {
  const { clock, planner, signal } = deps;
  const { projects, listings, origin } = discovery;
  let shown: ReadPage | undefined;
  try {
    const read = await fetchListPage(deps, cursor, permit);
    if (origin.bootAt === undefined) await bootAccount(deps, origin, listings, read.readAtMs);
    restartAbsences(projects, read, clock.now());
    // A listing that lacks a project would make news of it later.
    if (await addProjects(deps, discovery, read)) shown = read;
  } catch (error) {
    if (!listings.hasEnded && !signal.aborted && isUpstreamError(error)) await addUnlisted(deps, discovery);
    throw error;
  } finally {
    noteEnded(discovery, planner.reportPage(page, shown, clock.now()));
  }
  await endListing(deps, discovery);
}

/** Takes the projects that the configuration names, as a listing of them would show them. */
export async function takeFixedProjects(
  deps: InvocationDeps,
  discovery: Discovery,
  projectIds: readonly string[],
): Promise<void> {
  const startedAtMs = deps.clock.now();
  const readAtMs = await firstReadAtMs(deps, projectIds);
  await bootAccount(deps, discovery.origin, discovery.listings, readAtMs);
  const page = { projectIds, unavailableProjectIds: [], readAtMs, createdAtOf: new Map<string, string>() };
  if (!(await addProjects(deps, discovery, page))) return;
  noteEnded(discovery, { startedAtMs, unavailableCount: 0, malformedRowCount: 0, end: 'end' });
  await endListing(deps, discovery);
}

/**
 * No list shows these projects, so the upstream's clock comes from the operations of the first project that can be
 * read.
 */
async function firstReadAtMs(
  { upstream, clock, signal }: InvocationDeps,
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

function noteEnded({ listings }: Discovery, listing: Listing | undefined): void {
  if (listing === undefined) return;
  listings.ended = listing;
  listings.count += 1;
}

/** Records the listing that has ended. When the table fails, the next look records it. Until then a new project does not count as news. */
async function endListing(deps: InvocationDeps, discovery: Discovery): Promise<void> {
  const { bounds, telemetry } = deps;
  const { projects, listings } = discovery;
  const listing = listings.ended;
  if (listing === undefined) return;
  const isFirst = !listings.hasEnded;
  listings.ended = undefined;
  let isRecorded = false;
  try {
    await recordFirstListing(deps, listings, listing);
    isRecorded = !isFirst || (await addUnlisted(deps, discovery));
  } finally {
    if (!isRecorded) listings.ended ??= listing;
  }
  if (!isRecorded) return;
  listings.hasEnded = true;
  const values = { list_pages: LIST_PAGES_MAX, barren_pages: BARREN_PAGES_MAX };
  if (listing.end !== 'end') bounds.report(listing.end, values[listing.end]);
  if (isFirst) telemetry.log('info', 'projects.listed', { project_count: projects.memories.size });
  await judgeMissingProjects(deps, projects, listing);
}

/**
 * Adds the projects that an earlier process has known and that the list has not shown to this one: the first listing has ended without them, or
 * a page of it has failed. Polls find out which of them were deleted while no process ran, and a list that fails for hours delays new projects
 * alone. Resolves to false when the invocation was stopped before every project was added.
 */
async function addUnlisted(deps: InvocationDeps, discovery: Discovery): Promise<boolean> {
  const { names, store, clock, fixedProjectIds } = deps;
  const { memories, awaited } = discovery.projects;
  if (fixedProjectIds !== undefined) return true;
  const unlisted = (await names.storedIds()).filter((id) => !memories.has(id) && !awaited.has(id));
  if (unlisted.length === 0) return true;
  const records = await store.readProjects(unlisted);
  const visible = unlisted.filter((id) => {
    const record = records.get(id);
    return record !== undefined && record !== 'unreadable' && record.is_visible;
  });
  const page = { projectIds: visible, unavailableProjectIds: [], createdAtOf: new Map<string, string>() };
  return addProjects(deps, discovery, { ...page, readAtMs: clock.now() });
}

/** Other accounts are asked this often about the projects that wait for them, and what the configuration names is tried again. */
const DISCOVERY_LOOK_MS = 5_000;

export async function discoverRepeatedly(
  deps: InvocationDeps,
  { health, listings, projects }: AccountMemory,
  discovery: Discovery,
): Promise<void> {
  const { planner, clock, signal, fixedProjectIds } = deps;
  while (!signal.aborted) {
    if (!listings.hasEnded || !listings.hasReadWholeList) planner.askForListing();
    await surviveFailure(deps, health, async () => {
      await endListing(deps, discovery);
      if (fixedProjectIds === undefined || listings.hasEnded || health.isKeyRejected)
        return addAwaited(deps, discovery);
      await takeFixedProjects(deps, discovery, fixedProjectIds);
      await publishRecovery(deps, health, shownByList(projects));
    });
    await clock.sleep(DISCOVERY_LOOK_MS, signal).catch(() => {});
  }
}
