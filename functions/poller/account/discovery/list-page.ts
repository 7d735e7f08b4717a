/** Reads one page of the project list, and adds the projects that it shows to those that are polled. */

import { type ProjectRecord, sinceOf } from '../../../../shared/records/project-record.ts';
import { earlierNowMs, secondOf, type Timestamp } from '../../../../shared/records/time.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';
import type { BridgeStore } from '../../../../shared/store/bridge-store.ts';
import { isUnreadable } from '../../../../shared/store/unreadable.ts';
import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import type { ShownPage } from '../../planner/list-hints.ts';
import type { ArrivalHistory } from '../../planner/project-activity.ts';
import type { InvocationDeps } from '../account-deps.ts';
import { recordAndRelay } from '../relay-leftovers.ts';
import { awaitedIds, rememberProject } from './known-projects.ts';
import { type Discovery, nextOnSight } from './origin.ts';

/** The list gives at most this many projects on one page (public contract; the specification shows no paging). */
export const PROJECT_PAGE_ROWS = 400;

/**
 * At most this many projects of an account are polled. A process with 200,000 of them takes 0.6 GB, and a function may
 * have three.
 */
export const PROJECTS_MAX = 250_000;

export interface ReadPage extends ShownPage {
  readonly projectIds: readonly string[];
  /** Maps the id of each project to the time at which the upstream created it, as far as the page says. */
  readonly createdAtOf: ReadonlyMap<string, string>;
  /** A project that belongs on the page and is missing there was created after this time (`earlierNowMs`). */
  readonly readAtMs: number;
}

/** `cursor` is undefined at the beginning of the list. */
export async function fetchListPage(
  { upstream, clock, telemetry, names, usage, signal }: InvocationDeps,
  cursor: string | undefined,
  permit: Permit,
): Promise<ReadPage> {
  const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
  const requestedMs = clock.now();
  const page = await upstream.listProjects(query, { signal, permit });
  const { projects, unavailableProjectIds, malformedRowCount } = page;
  names.take(projects);
  usage.take(projects, clock.now());
  if (malformedRowCount > 0) telemetry.measure('MalformedRows', malformedRowCount);
  return {
    rows: projects,
    projectIds: projects.map(({ id }) => id),
    unavailableProjectIds,
    malformedRowCount,
    cursor: page.cursor,
    createdAtOf: new Map(projects.flatMap(({ id, created_at }) => (created_at ? [[id, created_at]] : []))),
    readAtMs: earlierNowMs({ requestedMs, serverDateMs: page.serverDateMs }),
  };
}

/** It is undefined when the project has no record. */
type ReadProject = ProjectRecord | 'unreadable' | undefined;

/** Up to this number, the records of projects are read side by side when they are needed, and otherwise together. */
const READ_SINGLY_MAX = 8;

/** Returns what reads the record of one of these projects. Those of many projects are read before it is called. */
async function projectReader(
  store: BridgeStore,
  projectIds: readonly string[],
): Promise<(projectId: string) => Promise<ReadProject>> {
  if (projectIds.length <= READ_SINGLY_MAX) return (id) => readOne(store, id);
  const records = await store.readProjects(projectIds);
  return async (id) => records.get(id);
}

async function readOne(store: BridgeStore, projectId: string): Promise<ReadProject> {
  try {
    return await store.readProject(projectId);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}

const READS_AT_ONCE = 8;

/** A project that is gone, or whose record the table does not give at the moment, is left out: the list brings it. */
export async function recordedProjects(
  store: BridgeStore,
  projectIds: readonly string[],
): Promise<readonly string[]> {
  const recorded = new Set<string>();
  await forEachConcurrently(projectIds, READS_AT_ONCE, async (id) => {
    if (await hasRecord(store, id)) recorded.add(id);
  });
  return projectIds.filter((id) => recorded.has(id));
}

async function hasRecord(store: BridgeStore, projectId: string): Promise<boolean> {
  const isHere = (record: ProjectRecord | undefined) => record?.is_visible || record?.is_unread === true;
  return store.readProject(projectId).then(isHere, isUnreadable);
}

/** This many calls of the table run at once while a first listing is stored. */
const SIGHTINGS_AT_ONCE = 8;

/** Adding projects needs these fields of a page. */
export type ShownProjects = Pick<
  ReadPage,
  'projectIds' | 'unavailableProjectIds' | 'createdAtOf' | 'readAtMs'
>;

/** Resolves to false when the invocation was stopped before every project was added. */
export async function addProjects(
  deps: InvocationDeps,
  discovery: Discovery,
  page: ShownProjects,
): Promise<boolean> {
  const added = unknownOf(deps, discovery, page);
  if (added.length > 0) await addAll(deps, discovery, added, (id) => sinceIn(discovery, id, page));
  return !deps.signal.aborted;
}

/** Looks whether other accounts have answered by now about the projects that the list has shown and that wait for them. */
export async function addAwaited(deps: InvocationDeps, discovery: Discovery): Promise<void> {
  const { projects } = discovery;
  // No list shows the projects that the configuration names, so they are looked at however long ago the last look was.
  const isListed = deps.fixedProjectIds === undefined;
  const projectIds = isListed ? awaitedIds(projects, deps.clock.now()) : [...projects.awaited.keys()];
  const added = unknownOf(deps, discovery, { projectIds, unavailableProjectIds: [] });
  if (added.length > 0) await addAll(deps, discovery, added, (id) => projects.awaited.get(id)?.since);
}

function unknownOf(
  { bounds, limits: { projectsMax = PROJECTS_MAX } }: InvocationDeps,
  { projects, addedNow }: Pick<Discovery, 'projects' | 'addedNow'>,
  { projectIds, unavailableProjectIds }: Pick<ShownProjects, 'projectIds' | 'unavailableProjectIds'>,
): readonly string[] {
  const { memories, sighted } = projects;
  const shown = new Set([...projectIds, ...unavailableProjectIds]);
  const unknown = [...shown].filter((id) => !sighted.has(id) && !addedNow.has(id));
  let room = Math.max(0, projectsMax - memories.size);
  // A project that is polled already has its place within the bound.
  const added = unknown.filter((id) => memories.has(id) || room-- > 0);
  // Commands name projects too, so more than the bound may be polled when the list shows them.
  if (added.length < unknown.length || memories.size > projectsMax) bounds.report('projects', projectsMax);
  return added;
}

async function addAll(
  deps: InvocationDeps,
  discovery: Discovery,
  added: readonly string[],
  sinceFor: (projectId: string) => Timestamp | undefined,
): Promise<void> {
  const { projects, addedNow } = discovery;
  const histories = new Map<string, ArrivalHistory>();
  for (const projectId of added) addedNow.add(projectId);
  try {
    const readRecord = await projectReader(deps.store, added);
    const add = async (projectId: string) => {
      const recorded = await readRecord(projectId);
      const history = await addOne(deps, discovery, { projectId, since: sinceFor(projectId), recorded });
      if (history !== undefined) histories.set(projectId, history);
    };
    await forEachConcurrently(added, SIGHTINGS_AT_ONCE, add, deps.signal);
  } finally {
    for (const projectId of added) addedNow.delete(projectId);
    // After a failure, too, the projects that were added before it are polled.
    const polled = added.filter((id) => projects.memories.has(id));
    deps.planner.addProjects(polled, histories);
  }
}

/** `since` is written along with a sighting that is news. For every other project the account's first sight counts. */
function sinceIn(
  { origin }: Pick<Discovery, 'origin'>,
  projectId: string,
  { createdAtOf, readAtMs }: ShownProjects,
): Timestamp | undefined {
  const { bootAt } = origin;
  if (bootAt === undefined) return undefined;
  const projectCreatedAt = createdAtOf.get(projectId);
  return sinceOf({ bootAt, seenAt: secondOf(readAtMs), projectCreatedAt });
}

interface ShownProject {
  readonly projectId: string;
  /** What had ended before this is history, if the project has no record yet. */
  readonly since: Timestamp | undefined;
  readonly recorded: ReadProject;
}

/** Recalls what an earlier process has learned of a project that this one meets for the first time. */
async function addOne(
  deps: InvocationDeps,
  { projects, listings, origin }: Discovery,
  { projectId, since, recorded }: ShownProject,
): Promise<ArrivalHistory | undefined> {
  if (recorded === 'unreadable') {
    // The project gets its turns all the same, and each poll finds out whether the item can be read by now.
    rememberProject(projects, projectId);
    return undefined;
  }
  // Until the account's item can be read again, it is unknown whether the project is news.
  if (origin.isUnreadable && recorded === undefined) return undefined;
  // The configuration names the project whether or not it can be seen, so only an answer of its own says that it is
  // back. One that has moved away is awaited from such an answer on.
  const isGone = recorded?.is_visible === false && !projects.awaited.has(projectId);
  if (deps.fixedProjectIds !== undefined && isGone) projects.unreachable.add(projectId);
  else if (!origin.isUnreadable) {
    const identity = { account_id: deps.store.accountId, project_id: projectId };
    const { hasReadWholeList: isNews } = listings;
    const sighting = { ...identity, nowMs: deps.clock.now(), isNews, since };
    const next = await nextOnSight(deps, projects, recorded, sighting);
    // The next look may decide whose it is.
    if (next === 'waits') return undefined;
    const isRecorded = next === undefined || (await recordAndRelay(deps, next, recorded));
    if (!isRecorded && next?.came_from !== undefined) return undefined;
  }
  // A poll of the project may have begun meanwhile, and what that remembers stays.
  rememberProject(projects, projectId);
  projects.sighted.add(projectId);
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}
