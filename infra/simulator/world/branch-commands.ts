/**
 * Defines what users can do with branches, and when the service refuses it (public contract): create one from its
 * parent's head, from a time or from a log sequence number, rename and protect it, let it expire, restore it, and
 * delete it.
 */

import { type Branch, branchPhaseAt } from './branch.ts';
import { addBranch, findPoint, type NamedPoint, removeBranch, runBranchChain } from './branch-life.ts';
import { type Compute, type ComputeSettings, createCompute } from './compute.ts';
import { addCompute, chooseMain } from './compute-commands.ts';
import { runStart, runSuspend } from './compute-life.ts';
import { drawBranchId } from './names.ts';
import { faultOfPlan, faultOfSize, type Plan } from './offer.ts';
import { kinds } from './operation-life.ts';
import {
  done,
  isLocked,
  LOCKED,
  type Outcome,
  operationsStartedBy,
  type Refused,
  refused,
} from './outcome.ts';
import type { ProjectState, WorldOperation } from './project-state.ts';

export interface NewBranch {
  readonly name?: string | undefined;
  readonly parentId?: string | undefined;
  readonly point: NamedPoint;
  readonly isProtected: boolean;
  readonly expiresAtMs?: number | undefined;
  readonly initSource: Branch['initSource'];
  readonly annotation: Branch['annotation'];
  readonly computes: readonly ComputeSettings[];
}

export interface CreatedBranch {
  readonly branch: Branch;
  readonly computes: readonly Compute[];
  readonly operations: readonly WorldOperation[];
}

export function createBranch(
  project: ProjectState,
  request: NewBranch,
  nowMs: number,
): Outcome<CreatedBranch> {
  const parent = project.branches.get(request.parentId ?? project.defaultBranchId);
  if (parent === undefined) return refused(404, 'parent branch not found');
  const fault = faultOf(project, request, nowMs);
  if (fault !== undefined) return fault;
  if (isLocked(project, nowMs)) return LOCKED;
  if (branchPhaseAt(parent, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  if (parent.expiry !== undefined) return refused(422, 'a branch that expires cannot have child branches');
  const point = findPoint(project, request.point, nowMs);
  if (point.kind === 'refused') return point;
  return done(started(project, { request, parent, originMs: point.value }, nowMs));
}

export function faultOf(project: ProjectState, request: NewBranch, nowMs: number): Refused | undefined {
  const { name, expiresAtMs, isProtected, computes } = request;
  if (name !== undefined && hasBranchNamed(project, name))
    return refused(409, 'a branch with this name already exists');
  if (project.branches.size >= project.plan.branchesMax)
    return refused(422, 'branches limit exceeded', 'BRANCHES_LIMIT_EXCEEDED');
  if (expiresAtMs !== undefined && isProtected)
    return refused(400, 'invalid request: a protected branch cannot expire');
  const fault = faultOfExpiry(expiresAtMs, nowMs) ?? faultOfComputes(computes, project.plan);
  return fault === undefined ? undefined : refused(400, `invalid request: ${fault}`);
}

export function hasBranchNamed({ branches }: ProjectState, name: string): boolean {
  return [...branches.values()].some((branch) => branch.name === name);
}

function faultOfComputes(computes: readonly ComputeSettings[], plan: Plan): string | undefined {
  if (computes.filter(({ type }) => type === 'read_write').length > 1)
    return 'endpoints: a branch can have one read_write endpoint';
  return computes
    .map(({ size }) => faultOfSize(size) ?? faultOfPlan(size, plan))
    .find((fault) => fault !== undefined);
}

export function started(
  project: ProjectState,
  { request, parent, originMs }: { readonly request: NewBranch; readonly parent: Branch; originMs: number },
  nowMs: number,
): CreatedBranch {
  const { name, point, isProtected, expiresAtMs, initSource, annotation } = request;
  const id = drawBranchId(project.random);
  const isTimeShown = point.timeMs !== undefined;
  const branch = addBranch(
    project,
    {
      id,
      name: name ?? id,
      createdAtMs: nowMs,
      origin: { branchId: parent.id, atMs: originMs, isTimeShown },
      expiry: expiresAtMs === undefined ? undefined : { setAtMs: nowMs, atMs: expiresAtMs },
      isProtected,
      initSource,
      annotation,
    },
    parent,
  );
  const computes = request.computes.map((config) =>
    createCompute(project.random, { branch_id: id, atMs: nowMs, config }),
  );
  for (const compute of computes) addCompute(project, compute);
  const before = [{ kind: kinds.create_branch, branchId: id }];
  const operations = operationsStartedBy(project, () => {
    runBranchChain(branch, { atMs: nowMs, current: 'init', next: 'ready' }, () =>
      runStart(project, { computes, before, atMs: nowMs, byCommand: true }),
    );
  });
  return { branch, computes, operations };
}

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

export interface ChangedBranch {
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
): Outcome<ChangedBranch | 'already_deleted'> {
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

/** A branch can live for 30 days from the time at which the expiry is set. */
const LIFE_MS_MAX = 30 * 24 * 3_600_000;

/** Returns what is wrong with the time, in milliseconds since the epoch, or undefined when it can be set. */
function faultOfExpiry(expiresAtMs: number | undefined, nowMs: number): string | undefined {
  if (expiresAtMs === undefined) return undefined;
  if (expiresAtMs <= nowMs) return 'expires_at: must be in the future';
  return expiresAtMs > nowMs + LIFE_MS_MAX ? 'expires_at: must be within 30 days' : undefined;
}
