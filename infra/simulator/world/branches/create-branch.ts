/** Creates a branch from its parent's head, from a time, or from a log sequence number. */

import { addCompute } from '../computes/compute-commands.ts';
import { runStart } from '../computes/compute-life.ts';
import { kinds } from '../operations/operation-life.ts';
import { isLocked, LOCKED } from '../operations/project-lock.ts';
import { operationsStartedBy } from '../operations/started.ts';
import { type Branch, branchPhaseAt } from '../state/branch.ts';
import { type Compute, type ComputeSettings, createCompute } from '../state/compute.ts';
import { faultOfSize } from '../state/compute-size.ts';
import { drawBranchId } from '../state/names.ts';
import { done, type Outcome, type Refused, refused } from '../state/outcome.ts';
import { faultOfPlan, type Plan } from '../state/plan.ts';
import type { ProjectState, WorldOperation } from '../state/project-state.ts';
import { addBranch, runBranchChain } from './branch-life.ts';
import { findPoint, type NamedPoint } from './branch-point.ts';
import { faultOfExpiry } from './expiry.ts';

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

function faultOf(project: ProjectState, request: NewBranch, nowMs: number): Refused | undefined {
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

function started(
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
