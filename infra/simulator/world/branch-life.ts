/**
 * Adds branches to a project and removes them, lets the state of a branch follow its operations, and finds the point
 * in its history that a caller names by a time or a log sequence number (LSN).
 */

import {
  type Branch,
  type BranchContent,
  type BranchStateName,
  contentAt,
  createBranchState,
  msOfLsn,
} from './branch.ts';
import { enterPhases } from './compute.ts';
import { removeCompute } from './compute-commands.ts';
import type { ChainEnd } from './operation-life.ts';
import { done, type Outcome, refused } from './outcome.ts';
import type { ProjectState } from './project-state.ts';

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

/** Without a time and an LSN, the caller means the head of the branch. */
export interface NamedPoint {
  readonly lsn?: string | undefined;
  /** The unit is milliseconds since the epoch. */
  readonly timeMs?: number | undefined;
}

/** Returns milliseconds since the epoch. */
export function findPoint(
  project: ProjectState,
  { lsn, timeMs }: NamedPoint,
  nowMs: number,
): Outcome<number> {
  if (lsn !== undefined && timeMs !== undefined)
    return refused(400, 'invalid request: an LSN and a timestamp cannot be given together');
  const atMs = lsn === undefined ? (timeMs ?? nowMs) : msOfLsn(project.created_at_ms, lsn);
  if (atMs === undefined) return refused(400, 'invalid request: the LSN must have the form 0/1E19478');
  if (atMs > nowMs) return refused(400, 'invalid request: the point in time is in the future');
  const oldestMs = Math.max(project.created_at_ms, nowMs - project.settings.historyRetentionSeconds * 1_000);
  if (Math.floor(atMs) < Math.floor(oldestMs / 1_000) * 1_000)
    return refused(400, 'invalid request: the point in time is older than the history of the project');
  return done(atMs);
}

/** Before its oldest version, a branch held what its parent held. */
export function contentOf(project: ProjectState, branch: Branch, atMs: number): BranchContent {
  const parent = project.branches.get(branch.origin?.branchId ?? '');
  const [oldest] = branch.contents;
  const isOwn = oldest === undefined || oldest.atMs <= atMs;
  if (isOwn || branch.origin === undefined || parent === undefined) return contentAt(branch.contents, atMs);
  return contentOf(project, parent, Math.min(atMs, branch.origin.atMs));
}
