/** Finds the project that a request names, if its key may see it. */

import { isWithinReach } from '../world/key-ring.ts';
import type { Branch } from '../world/state/branch.ts';
import type { ProjectState } from '../world/state/project-state.ts';
import { refusal, type UpstreamContext } from './upstream-context.ts';

/**
 * A deleted, an unknown and a forbidden project get the same answer (public contract: 404 also means "no
 * permission").
 */
export function findProject(c: UpstreamContext, projectId: string): ProjectState | Response {
  const principal = c.get('principal');
  const { isMember, projectId: scope } = principal;
  if (scope !== undefined && scope !== projectId) return outsideScope(c, scope);
  const canSee = isMember && isWithinReach(principal, projectId);
  const project = canSee ? c.get('world').project(projectId) : undefined;
  return project ?? refusal(c, 404, 'project not found');
}

/** The sentence is as observed. */
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
