/** Finds the point in a branch's history that a caller names by a time or a log sequence number (LSN). */

import type { Branch } from '../state/branch.ts';
import { type BranchContent, contentAt } from '../state/branch-content.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import type { ProjectState } from '../state/project-state.ts';
import { msOfLsn } from '../state/wal.ts';

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
