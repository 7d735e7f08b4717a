/** Keeps the set of polled projects: grown by any listing, shrunk only on evidence, because a listing can be partial. */

import { firstAccountRecord } from '../../shared/core/account-record.ts';
import type { ProjectRow } from '../../shared/core/hint-fields.ts';
import type { ArrivalHistory } from '../../shared/core/project-activity.ts';
import { recordDiscovery, recordUnreachable } from '../../shared/core/project-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../shared/core/timestamp.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import type { Permit } from '../../shared/upstream/request-budget.ts';
import { emptyMemory } from './poll.ts';
import type { Run } from './run.ts';

/** The most projects the list gives on one page (public contract; the specification shows no paging). */
const PROJECT_PAGE_ROWS = 400;

/** 40,000 projects: a list that goes on after that goes round in circles. */
const PROJECT_PAGES_MAX = 100;

/** Table calls at once while a first listing is stored. */
const SIGHTINGS_AT_ONCE = 8;

/** Polls in a row that answered 404 before a whole listing is asked whether the project is gone. */
const NOT_FOUND_COUNT_MIN = 3;

interface Listing {
  readonly rows: readonly ProjectRow[];
  readonly requestCount: number;
  readonly projectIds: readonly string[];
  /** Nothing was left out: what is missing here is not visible. */
  readonly isWhole: boolean;
  /** The upstream's clock at the first answer. */
  readonly serverDateMs: number;
}

export async function discoverProjects(run: Run): Promise<void> {
  const listing = await listProjects(run);
  const { deps, memory } = run;
  const account = await bootAccount(run, listing.serverDateMs);
  const histories = new Map<string, ArrivalHistory>();
  await forEachConcurrently(listing.projectIds, SIGHTINGS_AT_ONCE, async (projectId) => {
    const history = await noteSighting(run, projectId, account.is_listed);
    if (history !== undefined) histories.set(projectId, history);
  });
  if (!account.is_listed && listing.isWhole) {
    await deps.store.record({ ...account, is_listed: true, revision: account.revision }, account.revision);
  }
  deps.planner.setProjects([...new Set([...memory.projects.keys(), ...listing.projectIds])], histories);
  if (memory.discoveredAtMs === undefined) {
    deps.telemetry.log('info', 'projects.listed', { project_count: listing.projectIds.length });
  }
  run.bootAt = account.boot_at;
  memory.discoveredAtMs = deps.clock.now();
}

/** The same list as a hint: whose fields moved is polled at once; a new project waits for the discovery, which records it. */
export async function takeHints(run: Run, permit: Permit): Promise<void> {
  const { planner, clock } = run.deps;
  let listing: Listing | undefined;
  try {
    // A short page is the last one, or a partial one: then the rest is no hint this time, and has its turns as always.
    listing = await listProjects(run, { endsAtShortPage: true, permit });
  } finally {
    planner.reportListing(listing?.rows ?? [], listing?.requestCount ?? 1, clock.now());
  }
}

/** After several 404s: only a whole listing without the project is evidence that it is gone. */
export async function noteUnreachable(run: Run, projectId: string): Promise<void> {
  const { deps, memory } = run;
  const count = (memory.notFoundCounts.get(projectId) ?? 0) + 1;
  memory.notFoundCounts.set(projectId, count);
  if (count < NOT_FOUND_COUNT_MIN || deps.fixedProjectIds !== undefined) return;
  const listing = await listProjects(run);
  if (!listing.isWhole || listing.projectIds.includes(projectId)) return;
  const record = await deps.store.readProject(projectId);
  const next = record && recordUnreachable(record, deps.clock.now());
  if (next !== undefined && (await deps.store.record(next, record?.revision)) === 'recorded') {
    await relayRecords(deps, [next]);
  }
  forget(run, projectId);
}

function forget({ deps, memory }: Run, projectId: string): void {
  for (const known of [memory.projects, memory.notFoundCounts, memory.completedAtMs]) known.delete(projectId);
  deps.planner.setProjects([...memory.projects.keys()]);
}

async function listProjects(
  { deps, stop }: Run,
  { endsAtShortPage = false, permit }: { readonly endsAtShortPage?: boolean; readonly permit?: Permit } = {},
): Promise<Listing> {
  const { upstream, clock, fixedProjectIds } = deps;
  if (fixedProjectIds !== undefined) {
    return {
      projectIds: fixedProjectIds,
      isWhole: true,
      serverDateMs: clock.now(),
      rows: [],
      requestCount: 0,
    };
  }
  const projectIds = new Set<string>();
  const rows: ProjectRow[] = [];
  let isWhole = true;
  let serverDateMs = Number.NaN;
  let cursor: string | undefined;
  for (let pageCount = 1; ; pageCount++) {
    const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
    const page = await upstream.listProjects(query, { signal: stop.signal, permit });
    if (pageCount === 1) serverDateMs = page.serverDateMs ?? clock.now();
    const sizeBefore = projectIds.size;
    for (const row of page.projects) projectIds.add(row.id);
    rows.push(...page.projects);
    for (const id of page.unavailableProjectIds) projectIds.add(id);
    isWhole &&= page.malformedRowCount === 0 && page.unavailableProjectIds.length === 0;
    const isShort = page.projects.length < (endsAtShortPage ? PROJECT_PAGE_ROWS : 1);
    const hasEnded = isShort || projectIds.size === sizeBefore || page.cursor === undefined;
    const listing = { projectIds: [...projectIds], serverDateMs, rows, requestCount: pageCount };
    if (hasEnded) return { ...listing, isWhole };
    if (pageCount === PROJECT_PAGES_MAX) return { ...listing, isWhole: false };
    cursor = page.cursor;
  }
}

/** The account's first answer ever fixes, once and by the upstream's own clock, what counts as history. */
async function bootAccount({ deps }: Run, serverDateMs: number) {
  const { store } = deps;
  const known = await store.readAccount();
  if (known !== undefined) return known;
  const first = firstAccountRecord(store.accountId, bootTimeOf(serverDateMs));
  await store.record(first, undefined);
  return (await store.readAccount()) ?? first;
}

/** Whole seconds, as rows have them: an operation created in this very second is new, not history. */
function bootTimeOf(serverDateMs: number): Timestamp {
  const time = normaliseTimestamp(`${new Date(serverDateMs).toISOString().slice(0, 19)}Z`);
  if (time === undefined) throw new RangeError(`Not a time: ${serverDateMs}`);
  return time;
}

/** What an earlier process has learned of a project that this one meets for the first time. */
async function noteSighting(
  run: Run,
  projectId: string,
  isNews: boolean,
): Promise<ArrivalHistory | undefined> {
  const { deps, memory } = run;
  if (memory.projects.has(projectId)) return undefined;
  const { store, clock } = deps;
  const recorded = await store.readProject(projectId);
  const sighting = { account_id: store.accountId, project_id: projectId, nowMs: clock.now(), isNews };
  const next = recordDiscovery(recorded, sighting);
  if (next !== undefined) {
    const result = await store.record(next, recorded?.revision);
    if (result === 'recorded') await relayRecords(deps, [next]);
  }
  memory.projects.set(projectId, emptyMemory());
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}
