/** Adds projects to those that are polled, as soon as anything shows them: a listing only ever adds. */

import { historyEndOf } from '../../../shared/core/records/history.ts';
import { decideDiscovery, type ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { secondOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { type ListingPage, PROJECTS_MAX } from '../planner/listing.ts';
import type { ArrivalHistory } from '../planner/project-activity.ts';
import { emptyMemory } from '../project/poll.ts';
import type { ReadPage } from './fetch-list-page.ts';
import { noteBound } from './note-bound.ts';
import type { Run } from './run.ts';

/** Table calls at once while a first listing is stored. */
const SIGHTINGS_AT_ONCE = 8;

/** False when the invocation was stopped before every project was added. */
export async function addProjects(run: Run, page: ShownProjects): Promise<boolean> {
  const added = unknownOf(run, page);
  if (added.length > 0) await addAll(run, added, page);
  return !run.stop.signal.aborted;
}

type ShownProjects = Pick<ListingPage, 'projectIds' | 'unavailableProjectIds'> &
  Pick<ReadPage, 'createdAtOf' | 'serverDateMs'>;

function unknownOf(run: Run, { projectIds, unavailableProjectIds }: ShownProjects): readonly string[] {
  const { projects, sighted } = run.memory;
  const shown = new Set([...projectIds, ...unavailableProjectIds]);
  const unknown = [...shown].filter((id) => !sighted.has(id) && !run.addedNow.has(id));
  const added = unknown.slice(0, Math.max(0, PROJECTS_MAX - projects.size));
  if (added.length < unknown.length) noteBound(run, 'projects', PROJECTS_MAX);
  return added;
}

async function addAll(run: Run, added: readonly string[], page: ShownProjects): Promise<void> {
  const { deps, memory, stop, addedNow } = run;
  const histories = new Map<string, ArrivalHistory>();
  for (const projectId of added) addedNow.add(projectId);
  try {
    const note = async (projectId: string) => {
      const history = await noteSighting(run, projectId, historyUntil(run, projectId, page));
      if (history !== undefined) histories.set(projectId, history);
    };
    await forEachConcurrently(added, SIGHTINGS_AT_ONCE, note, stop.signal);
  } finally {
    for (const projectId of added) addedNow.delete(projectId);
    // Also after a failure: those that were added before it are polled.
    deps.planner.addProjects(
      added.filter((id) => memory.projects.has(id)),
      histories,
    );
  }
}

/**
 * Until the account was listed once, a crash may have delayed the sighting of what was there from the beginning: then the
 * account's first sight counts.
 */
function historyUntil(
  { bootAt, memory }: Run,
  projectId: string,
  { createdAtOf, serverDateMs }: ShownProjects,
): Timestamp | undefined {
  if (bootAt === undefined || !memory.areSightingsNews) return undefined;
  const projectCreatedAt = createdAtOf.get(projectId);
  return historyEndOf({ bootAt, seenAt: secondOf(serverDateMs), projectCreatedAt });
}

/** What an earlier process has learned of a project that this one meets for the first time. */
async function noteSighting(
  run: Run,
  projectId: string,
  historyEnd: Timestamp | undefined,
): Promise<ArrivalHistory | undefined> {
  const { deps, memory } = run;
  const { store, clock, fixedProjectIds } = deps;
  const recorded = await readSighted(run, projectId);
  if (recorded === 'unreadable') {
    // It is polled in its turn all the same, and each poll finds out whether it can be read by now.
    if (!memory.projects.has(projectId)) memory.projects.set(projectId, emptyMemory());
    return undefined;
  }
  // Whether it is news cannot be said before the account's item can be read again.
  if (run.isOriginUnreadable && recorded === undefined) return undefined;
  const isFixed = fixedProjectIds !== undefined;
  // The configuration names it whether it can be seen or not: only an answer of its own says that it is back.
  if (isFixed && recorded?.is_visible === false) memory.unreachable.add(projectId);
  else if (!run.isOriginUnreadable) {
    const { areSightingsNews: isNews } = memory;
    const identity = { account_id: store.accountId, project_id: projectId };
    const sighting = { ...identity, nowMs: clock.now(), isNews, historyUntil: historyEnd };
    const next = decideDiscovery(recorded, sighting);
    if (next !== undefined && (await store.record(next, recorded?.revision)) === 'recorded')
      await relayRecords(deps, [next]);
  }
  // A poll of it may have begun meanwhile.
  if (!memory.projects.has(projectId)) memory.projects.set(projectId, emptyMemory());
  memory.sighted.add(projectId);
  const { arrivals } = recorded ?? {};
  return arrivals && { arrivalCount: arrivals.count, observedMs: arrivals.observed_ms };
}

async function readSighted(
  { deps }: Run,
  projectId: string,
): Promise<ProjectRecord | 'unreadable' | undefined> {
  try {
    return await deps.store.readProject(projectId);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}
