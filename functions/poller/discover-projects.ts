/** Keeps the set of polled projects: grown by any listing, shrunk only on evidence, because a listing can be partial. */

import { type AccountRecord, firstAccountRecord } from '../../shared/core/account-record.ts';
import { LIST_PAGES_MAX } from '../../shared/core/list-pages.ts';
import type { PollDecision, ShownPage } from '../../shared/core/poll-planner.ts';
import type { ArrivalHistory } from '../../shared/core/project-activity.ts';
import { recordDiscovery, recordUnreachable } from '../../shared/core/project-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../shared/core/timestamp.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import type { AccountOrigin } from '../../shared/store/parse-record.ts';
import { isUnreadable, unlessUnreadable } from '../../shared/store/unreadable.ts';
import type { Permit } from '../../shared/upstream/request-budget.ts';
import { noteAnswer } from './note-reading.ts';
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
  /** The upstream's clock. */
  readonly serverDateMs: number;
}

interface Listing {
  readonly pages: readonly Page[];
  readonly projectIds: readonly string[];
  /** Nothing was left out: what is missing here is not visible. */
  readonly isWhole: boolean;
}

/** The whole list: it fixes what counts as history. From then on its pages are read in their turns. */
export async function discoverProjects(run: Run): Promise<void> {
  const { deps, memory } = run;
  const listing = await listProjects(run);
  const serverDateMs = listing.pages[0]?.serverDateMs ?? deps.clock.now();
  noteAnswer(run);
  const account = await bootAccount(run, serverDateMs);
  run.isOriginUnreadable = account === 'unreadable';
  if (account === 'unreadable') return addUnderUnreadableAccount(run, listing.projectIds);
  const { origin, record } = account;
  memory.areSightingsNews = origin.is_listed;
  await addProjects(run, listing.projectIds);
  if (!origin.is_listed && listing.isWhole && record !== undefined) {
    const listed = { ...record, is_listed: true };
    memory.areSightingsNews = (await deps.store.record(listed, record.revision)) === 'recorded';
  }
  for (const [place, page] of listing.pages.entries()) deps.planner.reportPage(place, page, deps.clock.now());
  if (memory.discoveredAtMs === undefined) {
    deps.telemetry.log('info', 'projects.listed', { project_count: listing.projectIds.length });
  }
  run.bootAt = origin.boot_at;
  memory.discoveredAtMs = deps.clock.now();
}

/** Whether a project is news cannot be said: those that are recorded are polled, and the others wait for the account's item. */
async function addUnderUnreadableAccount(run: Run, projectIds: readonly string[]): Promise<void> {
  await addProjects(run, projectIds);
  run.memory.discoveredAtMs = run.deps.clock.now();
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
    noteAnswer(run);
    await addProjects(run, shown.projectIds);
  } finally {
    planner.reportPage(page, shown, clock.now());
  }
}

async function addProjects(run: Run, projectIds: readonly string[]): Promise<void> {
  const { deps, memory } = run;
  const added = projectIds.filter((projectId) => !memory.projects.has(projectId));
  if (added.length === 0 && memory.discoveredAtMs !== undefined) return;
  const histories = new Map<string, ArrivalHistory>();
  await forEachConcurrently(added, SIGHTINGS_AT_ONCE, async (projectId) => {
    const history = await noteSighting(run, projectId);
    if (history !== undefined) histories.set(projectId, history);
  });
  deps.planner.setProjects([...memory.projects.keys()], histories);
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
  if (fixedProjectIds !== undefined) return { pages: [], projectIds: fixedProjectIds, isWhole: true };
  const projectIds = new Set<string>();
  const pages: Page[] = [];
  let isWhole = true;
  for (let cursor: string | undefined; pages.length < LIST_PAGES_MAX; ) {
    const page = await readPage(run, cursor);
    pages.push(page);
    const sizeBefore = projectIds.size;
    for (const id of page.projectIds) projectIds.add(id);
    isWhole &&= page.isWhole;
    const hasEnded = page.isEmpty || projectIds.size === sizeBefore || page.cursor === undefined;
    if (hasEnded) return { pages, projectIds: [...projectIds], isWhole };
    cursor = page.cursor;
  }
  return { pages, projectIds: [...projectIds], isWhole: false };
}

async function readPage({ deps, stop }: Run, cursor: string | undefined, permit?: Permit): Promise<Page> {
  const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
  const page = await deps.upstream.listProjects(query, { signal: stop.signal, permit });
  const { projects, unavailableProjectIds, malformedRowCount } = page;
  return {
    rows: projects,
    projectIds: [...projects.map(({ id }) => id), ...unavailableProjectIds],
    isWhole: malformedRowCount === 0 && unavailableProjectIds.length === 0,
    isEmpty: projects.length === 0,
    isFull: projects.length + unavailableProjectIds.length + malformedRowCount >= PROJECT_PAGE_ROWS,
    cursor: page.cursor,
    serverDateMs: page.serverDateMs ?? deps.clock.now(),
  };
}

interface Booted {
  readonly origin: AccountOrigin;
  /** Undefined: the rest of the item cannot be read, and stays as it is. */
  readonly record: AccountRecord | undefined;
}

/** The account's first answer ever fixes, once and by the upstream's own clock, what counts as history. */
async function bootAccount({ deps }: Run, serverDateMs: number): Promise<Booted | 'unreadable'> {
  const { store } = deps;
  const known = await store.readOrigin();
  if (known === 'unreadable') return known;
  if (known !== undefined) return { origin: known, record: await unlessUnreadable(store.readAccount()) };
  const first = firstAccountRecord(store.accountId, bootTimeOf(serverDateMs));
  await store.record(first, undefined);
  const record = (await store.readAccount()) ?? first;
  return { origin: record, record };
}

/** Whole seconds, as rows have them: an operation created in this very second is new, not history. */
function bootTimeOf(serverDateMs: number): Timestamp {
  const time = normaliseTimestamp(`${new Date(serverDateMs).toISOString().slice(0, 19)}Z`);
  if (time === undefined) throw new RangeError(`Not a time: ${serverDateMs}`);
  return time;
}

/** What an earlier process has learned of a project that this one meets for the first time. */
async function noteSighting(run: Run, projectId: string): Promise<ArrivalHistory | undefined> {
  const { deps, memory } = run;
  const { store, clock } = deps;
  const recorded = await readSighted(run, projectId);
  if (recorded === 'unreadable') {
    // It is polled in its turn all the same, and each poll finds out whether it can be read by now.
    if (!memory.projects.has(projectId)) memory.projects.set(projectId, emptyMemory());
    return undefined;
  }
  if (recorded === undefined && run.isOriginUnreadable) return undefined;
  const { areSightingsNews: isNews } = memory;
  const sighting = { account_id: store.accountId, project_id: projectId, nowMs: clock.now(), isNews };
  const next = run.isOriginUnreadable ? undefined : recordDiscovery(recorded, sighting);
  if (next !== undefined) {
    const result = await store.record(next, recorded?.revision);
    if (result === 'recorded') await relayRecords(deps, [next]);
  }
  // Another page may have shown it meanwhile, and a poll of it have begun.
  if (!memory.projects.has(projectId)) memory.projects.set(projectId, emptyMemory());
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}

async function readSighted({ deps }: Run, projectId: string) {
  try {
    return await deps.store.readProject(projectId);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}
