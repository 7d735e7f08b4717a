/** Renames a branch, protects it, lets it expire, or makes it the default branch. None of it starts an operation. */

import { chooseMain } from '../computes/compute-commands.ts';
import { type Branch, branchPhaseAt } from '../state/branch.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import type { ProjectState } from '../state/project-state.ts';
import { hasBranchNamed } from './create-branch.ts';
import { faultOfExpiry } from './expiry.ts';

export interface BranchChange {
  readonly name?: string | undefined;
  readonly isProtected?: boolean | undefined;
  /** The unit is milliseconds since the epoch. Null lets the branch live for ever. */
  readonly expiresAtMs?: number | null | undefined;
}

export function updateBranch(
  project: ProjectState,
  { branchId, change }: { readonly branchId: string; readonly change: BranchChange },
  nowMs: number,
): Outcome<Branch> {
  const branch = project.branches.get(branchId);
  if (branch === undefined) return refused(404, 'branch not found');
  const { name = branch.name, isProtected = branch.isProtected, expiresAtMs } = change;
  if (name !== branch.name && hasBranchNamed(project, name))
    return refused(409, 'a branch with this name already exists');
  const fault = faultOfExpiry(expiresAtMs ?? undefined, nowMs);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const expiry = expiryAfter(branch, expiresAtMs, nowMs);
  if (expiry !== undefined && (isProtected || !canExpire(project, branch)))
    return refused(
      400,
      'invalid request: a branch that is protected, default or a parent of others cannot expire',
    );
  Object.assign(branch, { name, isProtected, expiry, updatedAtMs: nowMs });
  return done(branch);
}

/** Callers who name no branch mean the default branch. */
export function setDefaultBranch(project: ProjectState, branchId: string, nowMs: number): Outcome<Branch> {
  const branch = project.branches.get(branchId);
  if (branch === undefined) return refused(404, 'branch not found');
  if (branchPhaseAt(branch, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  if (branch.expiry !== undefined) return refused(422, 'a branch that expires cannot be the default branch');
  project.defaultBranchId = branchId;
  branch.updatedAtMs = nowMs;
  chooseMain(project);
  return done(branch);
}

export function isParent({ branches }: ProjectState, branchId: string): boolean {
  return [...branches.values()].some(({ origin }) => origin?.branchId === branchId);
}

function canExpire(project: ProjectState, { id }: Branch): boolean {
  return id !== project.defaultBranchId && !isParent(project, id);
}

function expiryAfter(
  { expiry }: Branch,
  expiresAtMs: number | null | undefined,
  nowMs: number,
): Branch['expiry'] {
  if (expiresAtMs === undefined) return expiry;
  return expiresAtMs === null ? undefined : { setAtMs: nowMs, atMs: expiresAtMs };
}
