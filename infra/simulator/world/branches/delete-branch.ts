/** Deletes a branch with its computes: on a caller's request, or because it has expired. */

import { runSuspend } from '../computes/compute-life.ts';
import { kinds } from '../operations/operation-life.ts';
import { isLocked, LOCKED } from '../operations/project-lock.ts';
import { operationsStartedBy } from '../operations/started.ts';
import type { Branch } from '../state/branch.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import type { ProjectState, WorldOperation } from '../state/project-state.ts';
import { removeBranch } from './branch-life.ts';
import { isParent } from './update-branch.ts';

export interface DeletedBranch {
  readonly branch: Branch;
  readonly operations: readonly WorldOperation[];
}

/**
 * A branch that does not exist is already deleted (public contract: 204). The branch leaves all answers at once, and
 * `delete_timeline` removes its data.
 */
export function deleteBranch(
  project: ProjectState,
  branchId: string,
  nowMs: number,
): Outcome<DeletedBranch | 'already_deleted'> {
  const branch = project.branches.get(branchId);
  if (branch === undefined) return done('already_deleted');
  if (branchId === project.defaultBranchId) return refused(422, 'the default branch cannot be deleted');
  if (branch.origin === undefined) return refused(422, 'the root branch cannot be deleted');
  if (branch.isProtected) return refused(422, 'a protected branch cannot be deleted');
  if (isParent(project, branchId)) return refused(422, 'a branch with child branches cannot be deleted');
  if (isLocked(project, nowMs)) return LOCKED;
  const operations = operationsStartedBy(project, () =>
    endBranch(project, branch, { atMs: nowMs, byCommand: true }),
  );
  return done({ branch, operations });
}

export function endBranch(
  project: ProjectState,
  branch: Branch,
  start: { readonly atMs: number; readonly byCommand?: boolean },
): void {
  const computes = project.computes.filter(
    ({ branch_id, activeSpan }) => branch_id === branch.id && activeSpan !== undefined,
  );
  runSuspend(project, {
    computes,
    after: [{ kind: kinds.delete_timeline, branchId: branch.id }],
    ...start,
  });
  removeBranch(project, branch);
}
