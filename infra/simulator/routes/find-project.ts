/** Finds the project that a request names, if its key may see it. */

import { isSharedWith } from '../world/projects/permissions.ts';
import type { Branch } from '../world/state/branch.ts';
import type { ProjectState, WorldProject } from '../world/state/project-state.ts';
import { refusal, type UpstreamContext } from './upstream-context.ts';

/**
 * A deleted, an unknown and a forbidden project get the same answer (public contract: 404 also means "no
 * permission").
 */
export function findProject(
  c: UpstreamContext,
  projectId: string,
  find: (projectId: string) => ProjectState | undefined = c.get('world').project,
): ProjectState | Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined && scope !== projectId) return outsideScope(c, scope);
  const project = find(projectId);
  return project !== undefined && isVisible(c, project) ? project : refusal(c, 404, 'project not found');
}

/**
 * A key reaches the projects of its organizations and those that are shared with its owner. A project-scoped key
 * reaches its own project alone.
 */
export function isVisible(c: UpstreamContext, project: WorldProject): boolean {
  const { email } = c.get('principal');
  return isOwn(c, project) || (email !== undefined && isSharedWith(project, email));
}

export function isOwn(c: UpstreamContext, { id, settings }: WorldProject): boolean {
  const { projectId: scope, organizationIds } = c.get('principal');
  return scope === undefined ? organizationIds.includes(settings.organizationId) : scope === id;
}

/** Without an id, the caller means the organization of the key, which for a person is the first one. */
export function findOrganizationId(c: UpstreamContext, organizationId?: string): string | Response {
  const { organizationIds } = c.get('principal');
  const found = organizationIds.find((id) => organizationId === undefined || id === organizationId);
  return found ?? refusal(c, 404, 'organization not found');
}

/** Answers 404 with the sentence that the service was seen to use. */
export function outsideScope(c: UpstreamContext, scope: string): Response {
  const sentence = 'not allowed to perform actions outside the project this key is scoped to';
  return refusal(c, 404, `${sentence}; subject_project_id:"${scope}"`);
}

/** Answers 404 unless the project of the path exists and the key may see it. */
export function inProject(
  c: UpstreamContext,
  use: (project: ProjectState, nowMs: number) => Response,
): Response {
  const found = findProject(c, c.req.param('project_id') ?? '');
  return found instanceof Response ? found : use(found, c.get('world').nowMs);
}

/** Answers 404 unless the branch of the path exists, too. */
export function inBranch(
  c: UpstreamContext,
  use: (found: {
    readonly project: ProjectState;
    readonly branch: Branch;
    readonly nowMs: number;
  }) => Response,
): Response {
  return inProject(c, (project, nowMs) => {
    const branch = project.branches.get(c.req.param('branch_id') ?? '');
    return branch === undefined ? refusal(c, 404, 'branch not found') : use({ project, branch, nowMs });
  });
}
