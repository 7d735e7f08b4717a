/** Adds projects to those that are polled, as soon as a page shows them. No page removes a project. */

import { sinceOf } from '../../../../shared/core/records/history.ts';
import { decideDiscovery } from '../../../../shared/core/records/project-record.ts';
import { secondOf, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';
import type { BridgeStore } from '../../../../shared/store/adapters/bridge-store.ts';
import { type ListingPage, PROJECTS_MAX } from '../../planner/listing.ts';
import type { PollPlanner } from '../../planner/poll-planner.ts';
import type { ArrivalHistory } from '../../planner/project-activity.ts';
import { type RecordAndRelayDeps, recordAndRelay } from '../relay/record-and-relay.ts';
import type { BoundReports } from '../status/report-bound.ts';
import type { Discovery } from './discovery.ts';
import type { ReadPage } from './fetch-list-page.ts';
import { rememberProject } from './known-projects.ts';
import { projectReader, type ReadProject } from './read-projects.ts';

/** This many calls of the table run at once while a first listing is stored. */
const SIGHTINGS_AT_ONCE = 8;

export interface SightingDeps extends RecordAndRelayDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly planner: Pick<PollPlanner, 'addProjects'>;
  readonly bounds: BoundReports;
  readonly limits: ProjectLimits;
  readonly signal: AbortSignal;
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface ProjectLimits {
  /** At most this many projects are polled. When it is undefined, `PROJECTS_MAX` is the bound. */
  readonly projectsMax?: number | undefined;
}

/** Adding projects needs these fields of a page. */
export type ShownProjects = Pick<ListingPage, 'projectIds' | 'unavailableProjectIds'> &
  Pick<ReadPage, 'createdAtOf' | 'readAtMs'>;

/** Resolves to false when the invocation was stopped before every project was added. */
export async function addProjects(
  deps: SightingDeps,
  discovery: Discovery,
  page: ShownProjects,
): Promise<boolean> {
  const added = unknownOf(deps, discovery, page);
  if (added.length > 0) await addAll(deps, discovery, added, page);
  return !deps.signal.aborted;
}

function unknownOf(
  { bounds, limits: { projectsMax = PROJECTS_MAX } }: Pick<SightingDeps, 'bounds' | 'limits'>,
  { projects, addedNow }: Pick<Discovery, 'projects' | 'addedNow'>,
  { projectIds, unavailableProjectIds }: ShownProjects,
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
  deps: SightingDeps,
  discovery: Discovery,
  added: readonly string[],
  page: ShownProjects,
): Promise<void> {
  const { projects, addedNow } = discovery;
  const histories = new Map<string, ArrivalHistory>();
  for (const projectId of added) addedNow.add(projectId);
  try {
    const readRecord = await projectReader(deps.store, added);
    const add = async (projectId: string) => {
      const since = sinceIn(discovery, projectId, page);
      const history = await addOne(deps, discovery, {
        projectId,
        since,
        recorded: await readRecord(projectId),
      });
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
  deps: SightingDeps,
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
  // back.
  if (deps.fixedProjectIds !== undefined && recorded?.is_visible === false)
    projects.unreachable.add(projectId);
  else if (!origin.isUnreadable) {
    const identity = { account_id: deps.store.accountId, project_id: projectId };
    const { areSightingsNews: isNews } = listings;
    const sighting = { ...identity, nowMs: deps.clock.now(), isNews, since };
    const next = decideDiscovery(recorded, sighting);
    if (next !== undefined) await recordAndRelay(deps, next, recorded);
  }
  // A poll of the project may have begun meanwhile, and what that remembers stays.
  rememberProject(projects, projectId);
  projects.sighted.add(projectId);
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}
