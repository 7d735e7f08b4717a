/**
 * What users can do with computes, and when the service refuses it (specification "Computes" and "Compute state").
 */

import { type Compute, type ComputeSettings, createCompute, phaseAt } from './compute.ts';
import { putOffSuspend, runRestart, runStart, runSuspend } from './compute-life.ts';
import { faultOfSize } from './compute-size.ts';
import { runChain } from './operation-chain.ts';
import { kinds, type OperationKind } from './operation-life.ts';
import { isLocked, LOCKED } from './project-lock.ts';
import type { ProjectState, WorldOperation } from './project-state.ts';

export type Outcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: 400 | 404 | 409 | 423; readonly message: string };

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
  if (!project.branchIds.has(branch_id)) return refused(404, 'branch not found');
  const fault = faultOfSize(config.size);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  if (config.type === 'read_write' && primaryOf(project, branch_id) !== undefined)
    return refused(409, 'read_write endpoint already exists');
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
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
  const fault = faultOfSize(config.size);
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const target = change.branch_id ?? compute.branch_id;
  if (!project.branchIds.has(target)) return refused(404, 'branch not found');
  const isMoved = target !== compute.branch_id;
  if (isMoved && config.type === 'read_write' && primaryOf(project, target) !== undefined)
    return refused(409, 'the target branch already has a read_write endpoint');
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
  const { size } = compute.config;
  const isResized = size.minCu !== config.size.minCu || size.maxCu !== config.size.maxCu;
  const isRetimed = config.suspendTimeoutSeconds !== compute.config.suspendTimeoutSeconds;
  Object.assign(compute, { config, branch_id: target, updatedAtMs: nowMs });
  // A shorter time-out counts from now on, and not from the last connection under the longer one.
  if (isRetimed && compute.activeSpan !== undefined) compute.activeSpan.untilMs = nowMs;
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  return started(project, compute, () => {
    if (isResized || isMoved) return restart(project, compute, nowMs);
    const { endMs } = runChain(project, {
      compute,
      kinds: [kinds.apply_config],
      atMs: nowMs,
      byCommand: true,
    });
    putOffSuspend(project, compute, endMs, 0);
  });
}

export function deleteEndpoint(
  project: ProjectState,
  endpointId: string,
  nowMs: number,
): Outcome<Started | 'already_deleted'> {
  if (project.deletedEndpointIds.has(endpointId)) return { kind: 'done', value: 'already_deleted' };
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
  removeCompute(project, compute);
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  return started(project, compute, () => suspend(project, compute, nowMs));
}

export function restartEndpoint(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
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
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
  return started(project, compute, () => start(project, compute, nowMs));
}

export function suspendEndpoint(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (phaseAt(compute, nowMs).current !== 'active') return unchanged(compute);
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
  return started(project, compute, () => suspend(project, compute, nowMs));
}

/** A client connects to the database: an idle compute wakes, and the inactivity timer starts again. */
export function connect(project: ProjectState, endpointId: string, nowMs: number): Outcome<Started> {
  const compute = findCompute(project, endpointId);
  if (compute === undefined) return refused(404, 'endpoint not found');
  if (compute.config.disabled) return refused(400, 'endpoint is disabled');
  compute.connectionCount += 1;
  if (compute.activeSpan !== undefined) {
    putOffSuspend(project, compute, nowMs, 0);
    return unchanged(compute);
  }
  return started(project, compute, () => start(project, compute, nowMs));
}

export function createBranch(
  project: ProjectState,
  { branch_id, withCompute }: { readonly branch_id: string; readonly withCompute: boolean },
  nowMs: number,
): Outcome<{ readonly compute: Compute | undefined; readonly operations: readonly WorldOperation[] }> {
  if (isLocked(project, nowMs)) return refused(423, LOCKED);
  project.branchIds.add(branch_id);
  const compute = createCompute(project.random, { branch_id, atMs: nowMs });
  if (withCompute) addCompute(project, compute);
  const outcome = started(project, compute, () => {
    if (withCompute) return start(project, compute, nowMs, [kinds.create_branch]);
    runChain(project, { compute, kinds: [kinds.create_branch], atMs: nowMs, byCommand: true });
  });
  if (outcome.kind === 'refused') return outcome;
  return {
    kind: 'done',
    value: { compute: withCompute ? compute : undefined, operations: outcome.value.operations },
  };
}

export function findCompute({ computes }: ProjectState, endpointId: string): Compute | undefined {
  return computes.find(({ endpoint_id }) => endpoint_id === endpointId);
}

function primaryOf({ computes }: ProjectState, branchId: string): Compute | undefined {
  return computes.find(({ branch_id, config }) => branch_id === branchId && config.type === 'read_write');
}

function addCompute(project: ProjectState, compute: Compute): void {
  if (project.computes.length === 0) project.main = compute;
  project.computes.push(compute);
}

function removeCompute(project: ProjectState, compute: Compute): void {
  project.computes.splice(project.computes.indexOf(compute), 1);
  project.deletedEndpointIds.add(compute.endpoint_id);
  project.main = project.computes[0] ?? project.main;
}

function start(
  project: ProjectState,
  compute: Compute,
  atMs: number,
  before: readonly OperationKind[] = [],
): void {
  runStart(project, { compute, kinds: before, atMs, byCommand: true });
}

function suspend(project: ProjectState, compute: Compute, atMs: number): void {
  runSuspend(project, { compute, atMs, byCommand: true });
}

function restart(project: ProjectState, compute: Compute, atMs: number): void {
  runRestart(project, { compute, atMs, byCommand: true });
}

function started(project: ProjectState, compute: Compute, act: () => void): Outcome<Started> {
  const before = new Set(project.operations);
  act();
  const operations = project.operations.filter((operation) => !before.has(operation));
  const endMs = Math.max(...operations.map(({ states }) => states.at(-1)?.at_ms ?? 0));
  // The simulated users wait for the project's lock as every client does.
  project.nextSessionMs = Math.max(project.nextSessionMs, endMs);
  project.operations.sort((a, b) => a.created_us - b.created_us);
  return { kind: 'done', value: { compute, operations } };
}

function unchanged(compute: Compute): Outcome<Started> {
  return { kind: 'done', value: { compute, operations: [] } };
}

function refused(status: 400 | 404 | 409 | 423, message: string): Outcome<never> {
  return { kind: 'refused', status, message };
}
