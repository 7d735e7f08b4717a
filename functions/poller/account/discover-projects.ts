/** Reads the whole project list when something needs it: to know the projects at first, and as evidence of what is gone. */

import { firstAccountRecord } from '../../../shared/core/records/account-record.ts';
import { secondOf } from '../../../shared/core/time/timestamp.ts';
import type { AccountOrigin } from '../../../shared/store/parse-record.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import {
  BARREN_PAGES_MAX,
  createListing,
  LIST_PAGES_MAX,
  type ListingResult,
  PROJECTS_MAX,
} from '../planner/listing.ts';
import { provesFirstListing } from './absence.ts';
import { fetchListPage, type ReadPage } from './fetch-list-page.ts';
import { isEvidenceWanted, judgeMissingProjects } from './lose-projects.ts';
import { noteBound } from './note-bound.ts';
import type { Run } from './run.ts';
import { addProjects } from './sight-projects.ts';

/** Listings take at most a third of the time, so that those of a large account leave the limit to its polls. */
const REST_PER_LISTING = 2;

/** A listing that the end of an invocation has cut goes on in the next one. */
export function isListingDue(run: Run): boolean {
  const { deps, memory } = run;
  const { discoveredAtMs, listingFailedAtMs = Number.NEGATIVE_INFINITY } = memory;
  const { discoveryIntervalMs } = deps.limits;
  if (discoveredAtMs === undefined) return true;
  const nowMs = deps.clock.now();
  if (deps.fixedProjectIds !== undefined || nowMs - listingFailedAtMs < discoveryIntervalMs) return false;
  if (memory.listing !== undefined) return true;
  const restMs = Math.max(discoveryIntervalMs, REST_PER_LISTING * memory.listingMs);
  if (nowMs - discoveredAtMs < restMs) return false;
  return !memory.areSightingsNews || isEvidenceWanted(run);
}

export async function discoverProjects(run: Run): Promise<void> {
  if (run.deps.fixedProjectIds !== undefined) return takeFixedProjects(run, run.deps.fixedProjectIds);
  const result = await readListing(run);
  if (result !== undefined) await endListing(run, result);
}

/** The configuration is the list. */
async function takeFixedProjects(run: Run, projectIds: readonly string[]): Promise<void> {
  const startedAtMs = run.deps.clock.now();
  const serverDateMs = await upstreamNowMs(run, projectIds);
  await boot(run, serverDateMs);
  const nothing = { unavailableProjectIds: [], malformedRowCount: 0, cursor: undefined };
  const page = { ...nothing, projectIds, serverDateMs, createdAtOf: new Map<string, string>() };
  if (!(await addProjects(run, page))) return;
  const listing = createListing(startedAtMs);
  listing.take(page);
  const result = listing.result();
  if (result !== undefined) await endListing(run, result);
}

/** No list shows these projects, so the upstream's clock comes from the operations of the first one that can be read. */
async function upstreamNowMs({ deps, stop }: Run, projectIds: readonly string[]): Promise<number> {
  for (const projectId of projectIds) {
    try {
      const page = await deps.upstream.listOperations({ projectId, limit: 1 }, { signal: stop.signal });
      return page.serverDateMs ?? deps.clock.now();
    } catch (error) {
      const kind = isUpstreamError(error) ? error.kind : undefined;
      if (kind !== 'not_found' && kind !== 'forbidden') throw error;
    }
  }
  // None of them can be seen, and an answer that says so is all that there is.
  return deps.clock.now();
}

/** Undefined when the invocation was stopped before the end of the list. */
async function readListing(run: Run): Promise<ListingResult | undefined> {
  const { deps, memory, stop } = run;
  const listing = memory.listing ?? createListing(deps.clock.now());
  memory.listing = listing;
  for (let result = listing.result(); result === undefined; result = listing.result()) {
    const page = await readPageOf(run, listing.cursor);
    if (stop.signal.aborted) return undefined;
    if (listing.pageCount === 0) await boot(run, page.serverDateMs);
    if (!(await addProjects(run, page))) return undefined;
    deps.planner.reportPage(listing.pageCount, page, deps.clock.now());
    listing.take(page);
  }
  memory.listing = undefined;
  return listing.result();
}

/** A stored cursor that the upstream refuses must not hold the listing up for ever: the next one starts anew. */
async function readPageOf(run: Run, cursor: string | undefined): Promise<ReadPage> {
  try {
    return await fetchListPage(run, cursor);
  } catch (error) {
    const kind = isUpstreamError(error) ? error.kind : undefined;
    if (kind === 'rejected') run.memory.listing = undefined;
    // The end of an invocation is no failure of the list.
    if (kind !== 'cancelled') run.memory.listingFailedAtMs = run.deps.clock.now();
    throw error;
  }
}

async function endListing(run: Run, listing: ListingResult): Promise<void> {
  const { deps, memory } = run;
  const nowMs = deps.clock.now();
  const isFirst = memory.discoveredAtMs === undefined;
  memory.listingCount += 1;
  memory.listingMs = nowMs - listing.startedAtMs;
  memory.discoveredAtMs = nowMs;
  noteEnd(run, listing);
  if (isFirst) deps.telemetry.log('info', 'projects.listed', { project_count: listing.projectIds.size });
  await noteFirstListing(run, listing);
  await judgeMissingProjects(run, listing);
}

function noteEnd(run: Run, { end }: ListingResult): void {
  const bounds = { list_pages: LIST_PAGES_MAX, barren_pages: BARREN_PAGES_MAX, projects: PROJECTS_MAX };
  if (end !== 'end') noteBound(run, end, bounds[end]);
}

/** From the first listing on a project that appears is news, and operations older than the account are history. */
async function noteFirstListing(run: Run, listing: ListingResult): Promise<void> {
  const { deps, memory } = run;
  const origin = await deps.store.readOrigin();
  if (origin === undefined || origin === 'unreadable') return;
  run.bootAt = origin.boot_at;
  const account = await unlessUnreadable(deps.store.readAccount());
  if (account === undefined || account.is_listed || !provesFirstListing(listing, memory.listingCount)) return;
  const isRecorded =
    (await deps.store.record({ ...account, is_listed: true }, account.revision)) === 'recorded';
  memory.areSightingsNews = isRecorded;
}

/** Without the account's origin, nobody can say whether a project is news: those that are recorded are polled. */
async function boot(run: Run, serverDateMs: number): Promise<void> {
  const origin = await bootAccount(run, serverDateMs);
  run.isOriginUnreadable = origin === 'unreadable';
  if (origin !== 'unreadable') run.memory.areSightingsNews = origin.is_listed;
}

/** The account's first answer ever fixes, once and by the upstream's own clock, what counts as history. */
async function bootAccount({ deps }: Run, serverDateMs: number): Promise<AccountOrigin | 'unreadable'> {
  const { store } = deps;
  const known = await store.readOrigin();
  if (known !== undefined) return known;
  // Whole seconds, as rows have them: an operation that was created in this very second is new.
  const first = firstAccountRecord(store.accountId, secondOf(serverDateMs));
  await store.record(first, undefined);
  return (await store.readOrigin()) ?? first;
}
