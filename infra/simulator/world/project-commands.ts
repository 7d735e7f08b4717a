/**
 * Defines what users can do with projects (public contract): create one with its storage and its first compute,
 * change its settings, share it with people of other organizations, and delete it with all that it contains.
 */

import { runBranchChain } from './branch-life.ts';
import { type ChainStart, runConfigs, runStart, runSuspend } from './compute-life.ts';
import { faultOfPlan, faultOfSize, isRegion, type Plan } from './offer.ts';
import { type ChainEnd, kinds, stepOn } from './operation-life.ts';
import { done, isLocked, LOCKED, type Outcome, operationsStartedBy, refused } from './outcome.ts';
import type {
  NewProject,
  Permission,
  ProjectSettings,
  ProjectState,
  WorldOperation,
  WorldProject,
} from './project-state.ts';

/** The storage comes first, and then the compute (observed: `create_timeline`, `start_compute`). */
export function createStorage(project: ProjectState, start: ChainStart): ChainEnd {
  const { main, branches, defaultBranchId } = project;
  const run = () =>
    runStart(project, { computes: [main], before: [stepOn(kinds.create_timeline, main)], ...start });
  const branch = branches.get(defaultBranchId);
  return branch === undefined
    ? run()
    : runBranchChain(branch, { atMs: start.atMs, current: 'init', next: 'ready' }, run);
}

export interface CreatedProject {
  readonly project: ProjectState;
  readonly operations: readonly WorldOperation[];
}

/** The world makes the project, or returns undefined when the account is full. */
export interface ProjectMaker {
  readonly plan: Plan;
  readonly createProject: (request: NewProject) => ProjectState | undefined;
}

/** Returns the new project with the operations that begin it. */
export function createProject(
  request: NewProject,
  nowMs: number,
  { plan, createProject: make }: ProjectMaker,
): Outcome<CreatedProject> {
  const { regionId, defaultSize } = request.settings;
  const fault = isRegion(regionId)
    ? (faultOfSize(defaultSize) ?? faultOfPlan(defaultSize, plan))
    : `region_id: ${regionId} is not offered`;
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const project = make(request);
  if (project === undefined) return refused(422, 'projects limit exceeded', 'PROJECTS_LIMIT_EXCEEDED');
  const operations = operationsStartedBy(project, () =>
    createStorage(project, { atMs: nowMs, byCommand: true }),
  );
  return done({ project, operations });
}

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

/** The project comes back with all that it had, until the service forgets it (public contract). Its simulated users do not. */
export function recoverProject(project: ProjectState, nowMs: number): Outcome<ProjectState> {
  if (project.deletedAtMs === undefined) return refused(422, 'the project is not deleted');
  if (isLocked(project, nowMs)) return LOCKED;
  Object.assign(project, { deletedAtMs: undefined, updatedAtMs: nowMs });
  return done(project);
}

/** Another organization owns the project from then on; keys that are scoped to it stop working (specification). */
export function transferProject(project: ProjectState, organizationId: string): void {
  project.settings = { ...project.settings, organizationId };
}

/** A project is shared with 100 people at most, which is our choice. */
const PERMISSIONS_MAX = 100;

export function isSharedWith({ permissions }: Pick<WorldProject, 'permissions'>, email: string): boolean {
  return permissions.some((permission) => permission.email === email && permission.revokedAtMs === undefined);
}

export function grantPermission(
  project: ProjectState,
  { id, email }: Pick<Permission, 'id' | 'email'>,
  nowMs: number,
): Outcome<Permission> {
  if (isSharedWith(project, email)) return refused(409, 'the project is already shared with this person');
  if (project.permissions.length >= PERMISSIONS_MAX)
    return refused(422, `a project can be shared ${PERMISSIONS_MAX} times`);
  const permission = { id, email, grantedAtMs: nowMs, revokedAtMs: undefined };
  project.permissions = [...project.permissions, permission];
  return done(permission);
}

export function revokePermission(project: ProjectState, id: string, nowMs: number): Outcome<Permission> {
  const permission = project.permissions.find((each) => each.id === id && each.revokedAtMs === undefined);
  if (permission === undefined) return refused(404, 'permission not found');
  project.permissions = project.permissions.filter((each) => each !== permission);
  return done({ ...permission, revokedAtMs: nowMs });
}
