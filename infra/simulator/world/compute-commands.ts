/**
 * Defines what users can do with computes, and when the service refuses it (specification "Computes" and "Compute
 * state").
 */

import { type Compute, type ComputeSettings, createCompute, phaseAt } from './compute.ts';
import {
  type NewConnections,
  ONE_CONNECTION,
  openConnections,
  putOffSuspend,
  refusalOfConnections,
  runConfig,
  runRestart,
  runStart,
  runSuspend,
} from './compute-life.ts';
import { faultOfPlan, faultOfSize } from './offer.ts';
import { done, isLocked, LOCKED, type Outcome, operationsStartedBy, refused } from './outcome.ts';
import type { ProjectState, WorldOperation } from './project-state.ts';

export interface Started {
  readonly compute: Compute;
  /** The operation that runs first comes first. */
  readonly operations: readonly WorldOperation[];
}

export interface ComputeChange {
  readonly branch_id?: string | undefined;
  readonly config: Partial<Omit<ComputeSettings, 'type'>>;
}

export function createEndpoint(
  project: ProjectState,
  request: { readonly branch_id: string; readonly config: ComputeSettings },
  nowMs: number,
): Outcome<Started> {
  const { branch_id, config } = request;
  if (!project.branches.has(branch_id)) return refused(404, 'branch not found');
  const fault = faultOfSize(config.size) ?? faultOfPlan(config.size, project.plan);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  if (config.type === 'read_write' && primaryOf(project, branch_id) !== undefined)
    return refused(409, 'read_write endpoint already exists');
  if (isLocked(project, nowMs)) return LOCKED;
  const compute = createCompute(project.random, { branch_id, atMs: nowMs, config });
  addCompute(project, compute);
  return started(project, compute, () => start(project, compute, nowMs));
}

/** Settings change at once. A new size restarts an active compute and drops its connections. */
export function updateEndpoint(
  project: ProjectState,
  { endpointId, change }: { readonly endpointId: string; readonly change: ComputeChange },
  nowMs: number,
): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  const config = { ...compute.config, ...change.config };
  const fault = faultOfSize(config.size) ?? faultOfPlan(config.size, project.plan);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const target = change.branch_id ?? compute.branch_id;
  if (!project.branches.has(target)) return refused(404, 'branch not found');
  const isMoved = target !== compute.branch_id;
  if (isMoved && config.type === 'read_write' && primaryOf(project, target) !== undefined)
    return refused(409, 'the target branch already has a read_write endpoint');
  if (isLocked(project, nowMs)) return LOCKED;
  const { size } = compute.config;
  const isResized = size.minCu !== config.size.minCu || size.maxCu !== config.size.maxCu;
  const isRetimed = config.suspendTimeoutSeconds !== compute.config.suspendTimeoutSeconds;
  Object.assign(compute, { config, branch_id: target, updatedAtMs: nowMs });
  // A shorter time-out counts from now on, and not from the last connection under the longer one.
  if (isRetimed && compute.activeSpan !== undefined) compute.activeSpan.untilMs = nowMs;
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  return started(project, compute, () => {
    if (isResized || isMoved) return restart(project, compute, nowMs);
    runConfig(project, { compute, atMs: nowMs, byCommand: true });
  });
}

export function deleteEndpoint(
  project: ProjectState,
  endpointId: string,
  nowMs: number,
): Outcome<Started | 'already_deleted'> {
  if (project.deletedEndpointIds.has(endpointId)) return done('already_deleted');
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (isLocked(project, nowMs)) return LOCKED;
  removeCompute(project, compute);
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  return started(project, compute, () => suspend(project, compute, nowMs));
}

export function restartEndpoint(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (isLocked(project, nowMs)) return LOCKED;
  const { current } = phaseAt(compute, nowMs);
  if (current !== 'active')
    return refused(400, `endpoint is ${current}; only an active endpoint can be restarted`);
  return started(project, compute, () => restart(project, compute, nowMs));
}

/** Starting an active compute changes nothing and starts no operation. */
export function startEndpoint(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (phaseAt(compute, nowMs).current === 'active') return unchanged(compute);
  if (compute.config.disabled) return refused(400, 'endpoint is disabled');
  if (isLocked(project, nowMs)) return LOCKED;
  return started(project, compute, () => start(project, compute, nowMs));
}

export function suspendEndpoint(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  if (isLocked(project, nowMs)) return LOCKED;
  return started(project, compute, () => suspend(project, compute, nowMs));
}

/** A client connects to the database: an idle compute wakes, and the inactivity timer starts again. */
export function connect(
  project: ProjectState,
  endpointId: string,
  nowMs: number,
  connections: NewConnections = ONE_CONNECTION,
): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (compute.config.disabled) return refused(400, 'endpoint is disabled');
  const refusal = refusalOfConnections(compute, connections);
  if (refusal !== undefined) return refusal;
  openConnections(compute, connections);
  if (compute.activeSpan !== undefined) {
    putOffSuspend(compute, nowMs, 0);
    return unchanged(compute);
  }
  return started(project, compute, () => start(project, compute, nowMs));
}

export function findCompute({ computes }: ProjectState, endpointId: string): Compute | undefined {
  return computes.find(({ endpoint_id }) => endpoint_id === endpointId);
}

export function primaryOf({ computes }: ProjectState, branchId: string): Compute | undefined {
  return computes.find(({ branch_id, config }) => branch_id === branchId && config.type === 'read_write');
}

export function addCompute(project: ProjectState, compute: Compute): void {
  project.computes.push(compute);
  chooseMain(project);
}

export function removeCompute(project: ProjectState, compute: Compute): void {
  project.computes.splice(project.computes.indexOf(compute), 1);
  project.deletedEndpointIds.add(compute.endpoint_id);
  chooseMain(project);
}

/** The main compute is the primary one of the default branch, or the oldest when that branch has none. */
export function chooseMain(project: ProjectState): void {
  project.main = primaryOf(project, project.defaultBranchId) ?? project.computes[0] ?? project.main;
}

function start(project: ProjectState, compute: Compute, atMs: number): void {
  runStart(project, { computes: [compute], atMs, byCommand: true });
}

function suspend(project: ProjectState, compute: Compute, atMs: number): void {
  runSuspend(project, { computes: [compute], atMs, byCommand: true });
}

function restart(project: ProjectState, compute: Compute, atMs: number): void {
  runRestart(project, { computes: [compute], atMs, byCommand: true });
}

function started(project: ProjectState, compute: Compute, act: () => void): Outcome<Started> {
  return done({ compute, operations: operationsStartedBy(project, act) });
}

function unchanged(compute: Compute): Outcome<Started> {
  return done({ compute, operations: [] });
}
