/** Keeps the set of polled projects: grown by any listing, shrunk only on evidence, because a listing can be partial. */

import { firstAccountRecord } from '../../shared/core/account-record.ts';
import { historyEndOf } from '../../shared/core/history.ts';
import { LIST_PAGES_MAX } from '../../shared/core/list-pages.ts';
import type { PollDecision, ShownPage } from '../../shared/core/poll-planner.ts';
import type { ArrivalHistory } from '../../shared/core/project-activity.ts';
import { recordDiscovery, recordUnreachable } from '../../shared/core/project-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../shared/core/timestamp.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import type { Permit } from '../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../shared/upstream/upstream-error.ts';
import { emptyMemory } from './poll.ts';
import type { Run } from './run.ts';

/** The most projects the list gives on one page (public contract; the specification shows no paging). */
const PROJECT_PAGE_ROWS = 400;

/** Table calls at once while a first listing is stored. */
const SIGHTINGS_AT_ONCE = 8;

/** Polls in a row that answered 404 before a whole listing is asked whether the project is gone. */
const NOT_FOUND_COUNT_MIN = 3;

interface Page extends ShownPage {
  /** Also those that are only said to be unavailable. */
  readonly projectIds: readonly string[];
  /** Nothing was left out. */
  readonly isWhole: boolean;
  readonly sighted: readonly Sighted[];
  /** The upstream's clock. */
  readonly serverDateMs: number;
}

/** A project as one page of the list shows it. */
interface Sighted {
  readonly projectId: string;
  /** As the list says; undefined when it does not say. */
  readonly createdAt: string | undefined;
  /** The upstream's clock. */
  readonly seenAtMs: number;
}

interface Listing {
  readonly pages: readonly Page[];
  readonly projectIds: readonly string[];
  readonly sighted: readonly Sighted[];
  /** Nothing was left out: what is missing here is not visible. */
  readonly isWhole: boolean;
}

/** The whole list: it fixes what counts as history. From then on its pages are read in their turns. */
export async function discoverProjects(run: Run): Promise<void> {
  const { deps, memory } = run;
  const listing = await listProjects(run);
  const serverDateMs = listing.sighted[0]?.seenAtMs ?? listing.pages[0]?.serverDateMs ?? deps.clock.now();
  const account = await bootAccount(run, serverDateMs);
  memory.areSightingsNews = account.is_listed;
  // What the stop signal left out must not be taken for a new project later: the list counts as read another time.
  if (!(await addProjects(run, listing.sighted, account.boot_at))) return;
  if (!account.is_listed && listing.isWhole) {
    const listed = { ...account, is_listed: true };
    memory.areSightingsNews = (await deps.store.record(listed, account.revision)) === 'recorded';
  }
  for (const [place, page] of listing.pages.entries()) deps.planner.reportPage(place, page, deps.clock.now());
  if (memory.discoveredAtMs === undefined) {
    deps.telemetry.log('info', 'projects.listed', { project_count: listing.projectIds.length });
  }
  run.bootAt = account.boot_at;
  memory.discoveredAtMs = deps.clock.now();
}

/** Whose fields moved is polled at once, and who is new is added. */
export async function readListPage(
  run: Run,
  { page, cursor }: PollDecision & { kind: 'list' },
  permit: Permit,
): Promise<void> {
  const { planner, clock } = run.deps;
  let shown: Page | undefined;
  try {
    shown = await readPage(run, cursor, permit);
    if (run.bootAt !== undefined) await addProjects(run, shown.sighted, run.bootAt);
  } finally {
    planner.reportPage(page, shown, clock.now());
  }
}

/** Whether all of them are known now: once the invocation stops, no further one is looked up. */
async function addProjects(run: Run, sighted: readonly Sighted[], bootAt: Timestamp): Promise<boolean> {
  const { deps, memory } = run;
  const added = sighted.filter(({ projectId }) => !memory.projects.has(projectId));
  if (added.length === 0 && memory.discoveredAtMs !== undefined) return true;
  const histories = new Map<string, ArrivalHistory>();
  const note = async (project: Sighted) => {
    const history = await noteSighting(run, project, bootAt);
    if (history !== undefined) histories.set(project.projectId, history);
  };
  const areAllKnown = await forEachConcurrently(added, SIGHTINGS_AT_ONCE, note, run.stop.signal);
  deps.planner.setProjects([...memory.projects.keys()], histories);
  return areAllKnown;
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

async function listProjects(run: Run): Promise<Listing> {
  const { fixedProjectIds } = run.deps;
  if (fixedProjectIds !== undefined) return listFixed(run, fixedProjectIds);
  const projectIds = new Set<string>();
  const pages: Page[] = [];
  const listing = (isListWhole: boolean): Listing => ({
    pages,
    projectIds: [...projectIds],
    sighted: pages.flatMap(({ sighted }) => sighted),
    isWhole: isListWhole,
  });
  let isWhole = true;
  for (let cursor: string | undefined; pages.length < LIST_PAGES_MAX; ) {
    const page = await readPage(run, cursor);
    pages.push(page);
    const sizeBefore = projectIds.size;
    for (const id of page.projectIds) projectIds.add(id);
    isWhole &&= page.isWhole;
    const hasEnded = page.isEmpty || projectIds.size === sizeBefore || page.cursor === undefined;
    if (hasEnded) return listing(isWhole);
    cursor = page.cursor;
  }
  return listing(false);
}

/** No list shows these projects. */
async function listFixed(run: Run, projectIds: readonly string[]): Promise<Listing> {
  const seenAtMs = await upstreamNowMs(run, projectIds);
  const sighted = projectIds.map((id) => ({ projectId: id, createdAt: undefined, seenAtMs }));
  return { pages: [], projectIds, sighted, isWhole: true };
}

/** The upstream's clock, from the operations of the first project that can be read. Rejects when none can. */
async function upstreamNowMs({ deps, stop }: Run, projectIds: readonly string[]): Promise<number> {
  let failure: unknown;
  for (const projectId of projectIds) {
    try {
      const page = await deps.upstream.listOperations({ projectId, limit: 1 }, { signal: stop.signal });
      return page.serverDateMs ?? deps.clock.now();
    } catch (error) {
      if (!isUpstreamError(error) || error.kind === 'unauthorized') throw error;
      failure = error;
    }
  }
  throw failure;
}

async function readPage({ deps, stop }: Run, cursor: string | undefined, permit?: Permit): Promise<Page> {
  const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
  const page = await deps.upstream.listProjects(query, { signal: stop.signal, permit });
  const { projects, unavailableProjectIds, malformedRowCount } = page;
  const serverDateMs = page.serverDateMs ?? deps.clock.now();
  const rows = [...projects, ...unavailableProjectIds.map((id) => ({ id, created_at: undefined }))];
  return {
    rows: projects,
    projectIds: [...projects.map(({ id }) => id), ...unavailableProjectIds],
    isWhole: malformedRowCount === 0 && unavailableProjectIds.length === 0,
    isEmpty: projects.length === 0,
    isFull: projects.length + unavailableProjectIds.length + malformedRowCount >= PROJECT_PAGE_ROWS,
    cursor: page.cursor,
    sighted: rows.map(({ id, created_at }) => ({
      projectId: id,
      createdAt: created_at,
      seenAtMs: serverDateMs,
    })),
    serverDateMs,
  };
}

/** The account's first answer ever fixes, once and by the upstream's own clock, what counts as history. */
async function bootAccount({ deps }: Run, serverDateMs: number) {
  const { store } = deps;
  const known = await store.readAccount();
  if (known !== undefined) return known;
  const first = firstAccountRecord(store.accountId, secondOf(serverDateMs));
  await store.record(first, undefined);
  return (await store.readAccount()) ?? first;
}

/** Whole seconds, as rows have them: an operation created in this very second is new, not history. */
function secondOf(serverDateMs: number): Timestamp {
  const time = normaliseTimestamp(`${new Date(serverDateMs).toISOString().slice(0, 19)}Z`);
  if (time === undefined) throw new RangeError(`Not a time: ${serverDateMs}`);
  return time;
}

/** What an earlier process has learned of a project that this one meets for the first time. */
async function noteSighting(
  run: Run,
  { projectId, createdAt, seenAtMs }: Sighted,
  bootAt: Timestamp,
): Promise<ArrivalHistory | undefined> {
  const { deps, memory } = run;
  const { store, clock } = deps;
  const recorded = await store.readProject(projectId);
  const { areSightingsNews: isNews } = memory;
  const sighting = {
    account_id: store.accountId,
    project_id: projectId,
    nowMs: clock.now(),
    isNews,
    // Until the account was listed once, a crash may have delayed the sighting of what was there from the beginning.
    historyUntil: isNews
      ? historyEndOf({ bootAt, seenAt: secondOf(seenAtMs), projectCreatedAt: createdAt })
      : bootAt,
  };
  const next = recordDiscovery(recorded, sighting);
  if (next !== undefined) {
    const result = await store.record(next, recorded?.revision);
    if (result === 'recorded') await relayRecords(deps, [next]);
  }
  // Another page may have shown it meanwhile, and a poll of it have begun.
  if (!memory.projects.has(projectId)) memory.projects.set(projectId, emptyMemory());
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}
