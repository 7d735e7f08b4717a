/** Changes a project's settings, and deletes a project with all that it contains (public contract). */

import { runConfigs, runSuspend } from '../computes/compute-life.ts';
import { kinds } from '../operations/operation-life.ts';
import { isLocked, LOCKED } from '../operations/project-lock.ts';
import { operationsStartedBy } from '../operations/started.ts';
import { faultOfSize } from '../state/compute-size.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import { faultOfPlan } from '../state/plan.ts';
import type { ProjectSettings } from '../state/project-settings.ts';
import type { ProjectState, WorldOperation } from '../state/project-state.ts';

export type ProjectChange = Partial<
  Pick<
    ProjectSettings,
    'name' | 'historyRetentionSeconds' | 'defaultSize' | 'defaultSuspendTimeoutSeconds' | 'settings'
  >
>;

/**
 * A change of the history's length reaches the storage by `apply_storage_config`, and a change of other settings
 * reaches the active computes.
 */
export function updateProject(
  project: ProjectState,
  change: ProjectChange,
  nowMs: number,
): Outcome<readonly WorldOperation[]> {
  const next = { ...project.settings, ...change };
  const fault = faultOfSize(next.defaultSize) ?? faultOfPlan(next.defaultSize, project.plan);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const isStored = next.historyRetentionSeconds !== project.settings.historyRetentionSeconds;
  const isConfigured = JSON.stringify(next.settings) !== JSON.stringify(project.settings.settings);
  const computes = isConfigured ? project.computes.filter(({ activeSpan }) => activeSpan !== undefined) : [];
  const before = isStored ? [{ kind: kinds.apply_storage_config, branchId: project.defaultBranchId }] : [];
  const startsSome = before.length + computes.length > 0;
  if (startsSome && isLocked(project, nowMs)) return LOCKED;
  Object.assign(project, { settings: next, updatedAtMs: nowMs });
  if (!startsSome) return done([]);
  return done(
    operationsStartedBy(project, () =>
      runConfigs(project, { computes, before, atMs: nowMs, byCommand: true }),
    ),
  );
}

/**
 * The project leaves all answers at once. Its operations stay, so that callers can wait for their end. Its computes
 * suspend and its data are deleted.
 */
export function deleteProject(project: ProjectState, nowMs: number): Outcome<ProjectState> {
  if (project.deletedAtMs !== undefined) return done(project);
  if (isLocked(project, nowMs)) return LOCKED;
  const computes = project.computes.filter(({ activeSpan }) => activeSpan !== undefined);
  operationsStartedBy(project, () =>
    runSuspend(project, { computes, after: [{ kind: kinds.delete_tenant }], atMs: nowMs, byCommand: true }),
  );
  const never = Number.POSITIVE_INFINITY;
  Object.assign(project, { deletedAtMs: nowMs, nextSessionMs: never, nextCheckMs: never });
  for (const branch of project.branches.values()) branch.expiry = undefined;
  return done(project);
}

/** Another organization owns the project from then on; keys that are scoped to it stop working (specification). */
export function transferProject(project: ProjectState, organizationId: string): void {
  project.settings = { ...project.settings, organizationId };
}
