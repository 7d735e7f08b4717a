/** Adds branches to a project and removes them, and lets the state of a branch follow its operations. */

import { removeCompute } from '../computes/compute-commands.ts';
import type { ChainEnd } from '../operations/operation-chain.ts';
import { type Branch, type BranchStateName, createBranchState } from '../state/branch.ts';
import { enterPhases } from '../state/phases.ts';
import type { ProjectState } from '../state/project-state.ts';
import { contentOf } from './branch-point.ts';

/** A new branch has the roles and databases that its parent had at the origin. */
export function addBranch(
  project: ProjectState,
  known: Pick<Branch, 'id' | 'createdAtMs'> & Partial<Branch>,
  parent: Branch,
): Branch {
  const atMs = known.createdAtMs;
  const content = { ...contentOf(project, parent, known.origin?.atMs ?? atMs), atMs };
  const branch = createBranchState(known, content);
  project.branches.set(branch.id, branch);
  return branch;
}

/** Removes a branch with its computes. */
export function removeBranch(project: ProjectState, branch: Branch): void {
  for (const compute of project.computes.filter(({ branch_id }) => branch_id === branch.id))
    removeCompute(project, compute);
  project.branches.delete(branch.id);
}

interface BranchChange {
  readonly atMs: number;
  readonly current: BranchStateName;
  readonly next: BranchStateName;
}

/**
 * Runs a chain. The branch changes its state when the step at `place` finishes. When that comes to nothing, a branch
 * that was to be reset is as ready as before, and any other keeps its state.
 */
export function runBranchChain(
  branch: Branch,
  { atMs, current, next }: BranchChange,
  run: () => ChainEnd,
  place = 0,
): ChainEnd {
  const end = run();
  const changed = end.ends[place] ?? end;
  enterPhases(branch, atMs, [
    { atMs, current, pending: next },
    {
      atMs: changed.shownEndMs,
      current: changed.isFinished || current === 'resetting' ? next : current,
    },
  ]);
  return end;
}
