/**
 * Recalls the projects of a large account after a cold start, from the catalogue. What the catalogue says is only a
 * claim: the record of each project is read before its first poll, and a project without a visible record is left to
 * the project list, which alone says what is history there (ADR 13).
 */

import type { AccountStatus } from '../../../../shared/core/records/account-status.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../../../shared/store/adapters/bridge-store.ts';
import type { ArrivalHistory } from '../../planner/activity/arrival-history.ts';
import type { PollPlanner } from '../../planner/poll-planner.ts';
import { PROJECTS_MAX } from '../../planner/project-list/listing.ts';
import type { ProjectLimits } from '../discovery/add-projects.ts';
import { type KnownProjects, rememberProject } from '../discovery/known-projects.ts';
import type { Listings } from '../discovery/listings.ts';
import type { CataloguedProject } from './catalogue-text.ts';
import { CATALOGUED_FROM, type CatalogueLimits, type CataloguePort } from './keep-catalogue.ts';

export interface RecallDeps {
  readonly catalogue: Pick<CataloguePort, 'readAll'>;
  readonly planner: Pick<PollPlanner, 'addProjects'>;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly limits: CatalogueLimits & ProjectLimits;
}

/** `status` is what the process before this one has written, which says whether the account is large. */
export async function recallProjects(
  { catalogue, planner, telemetry, limits }: RecallDeps,
  { projects, listings }: { readonly projects: KnownProjects; readonly listings: Listings },
  status: AccountStatus | undefined,
): Promise<void> {
  const { cataloguedFrom = CATALOGUED_FROM } = limits;
  const isCold = listings.endedAtMs === undefined && listings.areSightingsNews;
  if (!isCold || status === undefined || status.project_count < cataloguedFrom) return;
  try {
    const added = takeUnknown(projects, await catalogue.readAll(), limits);
    planner.addProjects(
      added.map(({ id }) => id),
      new Map(
        added.flatMap(({ id, history }): [string, ArrivalHistory][] => (history ? [[id, history]] : [])),
      ),
    );
    telemetry.log('info', 'projects.recalled', { project_count: added.length });
  } catch (error) {
    telemetry.log('warn', 'catalogue.not_read', { reason: toError(error).name });
  }
}

/** Remembers the projects that are not polled yet, as far as the bound allows. The list reports when the bound is met. */
function takeUnknown(
  projects: KnownProjects,
  catalogued: readonly CataloguedProject[],
  { projectsMax = PROJECTS_MAX }: ProjectLimits,
): readonly CataloguedProject[] {
  const { memories, recalled } = projects;
  const unknown = catalogued.filter(({ id }) => !memories.has(id));
  const added = unknown.slice(0, Math.max(0, projectsMax - memories.size));
  for (const { id } of added) {
    rememberProject(projects, id);
    recalled.add(id);
  }
  return added;
}

/**
 * Reads the record of a project that only the catalogue has named. Resolves to false when there is none that is
 * polled, and then the project waits until the list shows it.
 */
export async function confirmRecalled(
  { store, planner }: { readonly store: BridgeStore; readonly planner: Pick<PollPlanner, 'removeProjects'> },
  { memories, recalled, sighted }: KnownProjects,
  projectId: string,
): Promise<boolean> {
  if (!recalled.has(projectId)) return true;
  const record = await store.readProject(projectId);
  // A page of the list may have shown the project meanwhile.
  if (!recalled.delete(projectId)) return true;
  if (record?.is_visible === true || record?.is_unread === true) {
    sighted.add(projectId);
    return true;
  }
  memories.delete(projectId);
  planner.removeProjects([projectId]);
  return false;
}
