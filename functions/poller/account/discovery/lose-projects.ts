/**
 * Collects evidence about projects whose operations answer 404, and publishes once that a project which is gone
 * cannot be reached.
 */

import {
  decideDiscovery,
  decideUnreachable,
  type ProjectRecord,
} from '../../../../shared/records/project-record.ts';
import { decideMovedAway, wantedBy } from '../../../../shared/records/transfer.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';
import type { Listing } from '../../planner/list-hints.ts';
import type { InvocationDeps } from '../account-deps.ts';
import { recordAndRelay } from '../relay-leftovers.ts';
import {
  afterListing,
  afterNotFound,
  afterShown,
  asksForListing,
  HELD_MS,
  isGone,
  type KnownProjects,
  restMs,
} from './known-projects.ts';
import type { ReadPage } from './list-page.ts';

/** This many calls of the table run at once while the projects that a listing has proved gone are recorded. */
const LOSSES_AT_ONCE = 8;

/**
 * Counts a 404 of the project's operations. Once there is enough evidence that the project is gone, that is published.
 * `recorded` was stored before the project was asked for.
 */
export async function countNotFound(
  deps: InvocationDeps,
  projects: KnownProjects,
  projectId: string,
  recorded?: ProjectRecord,
): Promise<void> {
  const { absences, memories, unreachable } = projects;
  // A poll may end after its project has been found gone.
  if (unreachable.has(projectId) || !memories.has(projectId)) return;
  const absence = afterNotFound(absences.get(projectId), deps.clock.now());
  absences.set(projectId, absence);
  if (asksForListing(absence)) deps.planner.askForListing();
  if (isGone(absence, deps.fixedProjectIds === undefined, heldMs(deps, recorded)))
    await lose(deps, projects, [projectId]);
}

/**
 * Takes a good answer of the project's operations. A fixed project that was published as unreachable is published as
 * back.
 */
export async function endAbsence(
  deps: InvocationDeps,
  { absences, unreachable }: KnownProjects,
  projectId: string,
): Promise<void> {
  absences.delete(projectId);
  if (!unreachable.has(projectId)) return;
  const recorded = await deps.store.readProject(projectId);
  const sighting = { account_id: deps.store.accountId, project_id: projectId, nowMs: deps.clock.now() };
  const next = decideDiscovery(recorded, { ...sighting, isNews: true });
  if (next !== undefined) await recordAndRelay(deps, next, recorded);
  unreachable.delete(projectId);
}

/** A page of the list shows these projects, so the count of listings without them begins anew. */
export function restartAbsences({ absences }: KnownProjects, page: ReadPage, nowMs: number): void {
  if (absences.size === 0) return;
  for (const id of [...page.projectIds, ...page.unavailableProjectIds]) {
    const absence = absences.get(id);
    if (absence !== undefined) absences.set(id, afterShown(absence, nowMs));
  }
}

/** Judges all projects that wait by one listing. */
export async function judgeMissingProjects(
  deps: InvocationDeps,
  projects: KnownProjects,
  listing: Listing,
): Promise<void> {
  const { absences } = projects;
  for (const [id, absence] of absences) absences.set(id, afterListing(absence, listing));
  const isListed = deps.fixedProjectIds === undefined;
  const heldForMs = heldMs(deps, undefined);
  const gone = [...absences].filter(([, absence]) => isGone(absence, isListed, heldForMs));
  const ids = gone.map(([id]) => id);
  await lose(deps, projects, ids);
}

/**
 * Returns the milliseconds for which a project that has just answered 404 rests, or undefined when it is treated as
 * any other.
 */
export function restMsOf(
  { absences, unreachable }: KnownProjects,
  projectId: string,
  requestsPerMinute: number,
): number | undefined {
  const isKnownGone = unreachable.has(projectId);
  if (!isKnownGone && !absences.has(projectId)) return undefined;
  const notFoundProjectCount = absences.size + unreachable.size;
  return restMs({ notFoundProjectCount, requestsPerMinute, isKnownGone });
}

/** A project that no other account of the bridge lists may still turn up in one of their lists. */
function heldMs(
  { clock, store, watchedAccountIds }: InvocationDeps,
  recorded: ProjectRecord | undefined,
): number {
  const isAlone = watchedAccountIds().every((id) => id === store.accountId);
  const isWanted = recorded !== undefined && wantedBy(recorded, clock.now()) !== undefined;
  return isAlone || isWanted ? 0 : HELD_MS;
}

async function lose(
  deps: InvocationDeps,
  projects: KnownProjects,
  projectIds: readonly string[],
): Promise<void> {
  await forEachConcurrently(projectIds, LOSSES_AT_ONCE, async (projectId) => {
    // The project may have answered meanwhile.
    if (deps.signal.aborted || !projects.absences.has(projectId)) return;
    if (await recordLoss(deps, projectId)) forget(deps, projects, projectId);
  });
}

/** Resolves to false when another process has changed the record meanwhile. The next 404 or listing decides again. */
async function recordLoss(deps: InvocationDeps, projectId: string): Promise<boolean> {
  const record = await deps.store.readProject(projectId);
  const nowMs = deps.clock.now();
  const next = record && (decideMovedAway(record, nowMs) ?? decideUnreachable(record, nowMs));
  return next === undefined || (await recordAndRelay(deps, next, record));
}

/** Nothing polls the project any more. A fixed one is still polled, seldom, because nothing else would show that it is back. */
export function forget(deps: InvocationDeps, projects: KnownProjects, projectId: string): void {
  projects.absences.delete(projectId);
  projects.sighted.delete(projectId);
  deps.onLost(projectId);
  if (deps.fixedProjectIds !== undefined) {
    projects.unreachable.add(projectId);
    return;
  }
  projects.memories.delete(projectId);
  deps.planner.removeProjects([projectId]);
}
