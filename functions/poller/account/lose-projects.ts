/** Projects whose operations answer 404: they wait together for evidence, and what is gone is published as unreachable once. */

import { decideDiscovery, decideUnreachable } from '../../../shared/core/records/project-record.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import type { ListingPage, ListingResult } from '../planner/listing.ts';
import {
  type Absence,
  asksForListing,
  isGone,
  judgeByListing,
  noteNotFound,
  noteShown,
  restMs,
} from './absence.ts';
import type { Run } from './run.ts';

/** Table calls at once while the projects that a listing has proved gone are recorded. */
const LOSSES_AT_ONCE = 8;

/** The project's operations answered 404. */
export async function noteMissingProject(run: Run, projectId: string): Promise<void> {
  const { deps, memory } = run;
  // A poll may end after its project has been found gone.
  if (memory.unreachable.has(projectId) || !memory.projects.has(projectId)) return;
  const absence = noteNotFound(memory.absences.get(projectId), deps.clock.now());
  memory.absences.set(projectId, absence);
  if (isGone(absence, evidenceOf(run))) await leave(run, [projectId]);
}

/** The project's operations answered. */
export async function noteAnsweringProject(run: Run, projectId: string): Promise<void> {
  const { deps, memory } = run;
  memory.absences.delete(projectId);
  if (!memory.unreachable.has(projectId)) return;
  const recorded = await deps.store.readProject(projectId);
  const sighting = { account_id: deps.store.accountId, project_id: projectId, nowMs: deps.clock.now() };
  const next = decideDiscovery(recorded, { ...sighting, isNews: true });
  if (next !== undefined && (await deps.store.record(next, recorded?.revision)) === 'recorded')
    await relayRecords(deps, [next]);
  memory.unreachable.delete(projectId);
}

export function noteShownProjects({ deps, memory }: Run, page: ListingPage): void {
  if (memory.absences.size === 0) return;
  for (const id of [...page.projectIds, ...page.unavailableProjectIds]) {
    const absence = memory.absences.get(id);
    if (absence !== undefined) memory.absences.set(id, noteShown(absence, deps.clock.now()));
  }
}

export function isEvidenceWanted({ deps, memory }: Run): boolean {
  const nowMs = deps.clock.now();
  return [...memory.absences.values()].some((absence) => asksForListing(absence, nowMs));
}

/** One listing judges everything that waits. */
export async function judgeMissingProjects(run: Run, listing: ListingResult): Promise<void> {
  const { deps, memory } = run;
  const nowMs = deps.clock.now();
  const judged: [string, Absence][] = [...memory.absences].map(([id, absence]) => [
    id,
    judgeByListing(absence, id, { listing, nowMs }),
  ]);
  for (const [id, absence] of judged) memory.absences.set(id, absence);
  const gone = judged.filter(([, absence]) => isGone(absence, evidenceOf(run)));
  if (gone.length > 0)
    await leave(
      run,
      gone.map(([id]) => id),
    );
}

/** How long a project that has just answered 404 is left alone; undefined: as any other. */
export function restOf({ deps, memory }: Run, projectId: string): number | undefined {
  const isKnownGone = memory.unreachable.has(projectId);
  if (!isKnownGone && !memory.absences.has(projectId)) return undefined;
  const notFoundProjectCount = memory.absences.size + memory.unreachable.size;
  return restMs({ notFoundProjectCount, requestsPerMinute: deps.limits.requestsPerMinute, isKnownGone });
}

function evidenceOf({ deps }: Run) {
  return deps.fixedProjectIds === undefined ? 'list' : 'none';
}

async function leave(run: Run, projectIds: readonly string[]): Promise<void> {
  const { memory, stop } = run;
  await forEachConcurrently(projectIds, LOSSES_AT_ONCE, async (projectId) => {
    // An answer may have come meanwhile.
    if (stop.signal.aborted || !memory.absences.has(projectId)) return;
    if (await recordLoss(run, projectId)) forget(run, projectId);
  });
}

/** False when somebody else has changed the record meanwhile: the next 404 or listing decides again. */
async function recordLoss({ deps }: Run, projectId: string): Promise<boolean> {
  const record = await deps.store.readProject(projectId);
  const next = record && decideUnreachable(record, deps.clock.now());
  if (next === undefined) return true;
  if ((await deps.store.record(next, record?.revision)) !== 'recorded') return false;
  await relayRecords(deps, [next]);
  return true;
}

/** A fixed project goes on being polled, seldom, because nothing else would show that it is back. */
function forget({ deps, memory }: Run, projectId: string): void {
  memory.absences.delete(projectId);
  memory.completedAtMs.delete(projectId);
  if (deps.fixedProjectIds !== undefined) {
    memory.unreachable.add(projectId);
    return;
  }
  memory.projects.delete(projectId);
  memory.sighted.delete(projectId);
  deps.planner.removeProjects([projectId]);
}
