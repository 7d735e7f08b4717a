/**
 * Starts, suspends and restarts computes, and counts and bounds their connections. The state of a compute follows its
 * operations: it changes at the instant at which an operation ends.
 */

import { type Compute, enterPhases, phaseAt, suspendAfterMs } from './compute.ts';
import { maxConnectionsOf } from './offer.ts';
import {
  type ChainEnd,
  type ChainStep,
  drawWaitMs,
  kinds,
  type OperationEnd,
  runChain,
  stepOn,
} from './operation-life.ts';
import { type Refused, refused } from './outcome.ts';
import type { ProjectState } from './project-state.ts';

const MEAN_USE_MS = 60_000;

/** This says when a chain begins, and whether a call of the API began it. */
export interface ChainStart {
  readonly atMs: number;
  readonly byCommand?: boolean;
}

/** Runs the steps `before`, and then starts the computes one after another. */
export function runStart(
  project: ProjectState,
  { computes, before = [], ...start }: ChainStart & StartPlan,
): ChainEnd {
  const steps = [...before, ...computes.map((compute) => stepOn(kinds.start_compute, compute))];
  const atMs = beginOf(computes, start);
  const froms = computes.map((compute) => stateBefore(compute, atMs));
  const end = runChain(project, { ...start, notBeforeMs: atMs, steps });
  for (const [place, compute] of computes.entries()) {
    const started = end.ends[before.length + place] ?? end;
    const from = froms[place] ?? 'init';
    compute.freeAtMs = started.endMs;
    enterPhases(compute, atMs, [
      { atMs, current: from, pending: 'active' },
      { atMs: started.shownEndMs, current: started.isFinished ? 'active' : from === 'init' ? 'idle' : from },
    ]);
    if (started.isFinished) beginActivity(project, compute, started.endMs, start);
  }
  return end;
}

interface StartPlan {
  readonly computes: readonly Compute[];
  readonly before?: readonly ChainStep[];
}

/**
 * Suspends active computes, and then runs the steps `after`. A compute whose suspend comes to nothing stays active and
 * is left alone again.
 */
export function runSuspend(
  project: ProjectState,
  { computes, after = [], ...start }: ChainStart & SuspendPlan,
): ChainEnd {
  const steps = [...computes.map((compute) => stepOn(kinds.suspend_compute, compute)), ...after];
  const atMs = beginOf(computes, start);
  const end = runChain(project, { ...start, notBeforeMs: atMs, steps });
  for (const [place, compute] of computes.entries()) {
    const suspended = end.ends[place] ?? end;
    dropConnections(compute);
    compute.freeAtMs = suspended.endMs;
    enterPhases(compute, atMs, [
      { atMs, current: 'active', pending: 'idle' },
      { atMs: suspended.shownEndMs, current: suspended.isFinished ? 'idle' : 'active' },
    ]);
    if (suspended.isFinished) endActivity(compute, atMs);
    else putOffSuspend(compute, suspended.endMs, useMsOf(project, start));
  }
  return end;
}

interface SuspendPlan {
  readonly computes: readonly Compute[];
  readonly after?: readonly ChainStep[];
}

/**
 * Suspends active computes, runs the steps `between`, and starts them again. When only the suspend of a compute
 * finishes, it is idle in the end.
 */
export function runRestart(
  project: ProjectState,
  { computes, between = [], ...start }: ChainStart & RestartPlan,
): ChainEnd {
  const suspends = computes.map((compute) => stepOn(kinds.suspend_compute, compute));
  const starts = computes.map((compute) => stepOn(kinds.start_compute, compute));
  const atMs = beginOf(computes, start);
  const steps = [...suspends, ...between, ...starts];
  const end = runChain(project, { ...start, notBeforeMs: atMs, steps });
  for (const [place, compute] of computes.entries()) {
    const suspended = end.ends[place] ?? end;
    const started = end.ends[suspends.length + between.length + place] ?? end;
    restarted(compute, atMs, { suspended, started });
  }
  return end;
}

interface RestartPlan {
  readonly computes: readonly Compute[];
  readonly between?: readonly ChainStep[];
}

function restarted(
  compute: Compute,
  atMs: number,
  { suspended, started }: { readonly suspended: OperationEnd; readonly started: OperationEnd },
): void {
  const isLeftIdle = suspended.isFinished && !started.isFinished;
  dropConnections(compute);
  compute.freeAtMs = started.endMs;
  enterPhases(compute, atMs, [
    { atMs, current: 'active', pending: 'active' },
    ...(suspended.isFinished
      ? ([{ atMs: suspended.shownEndMs, current: 'idle', pending: 'active' }] as const)
      : []),
    { atMs: started.shownEndMs, current: isLeftIdle ? 'idle' : 'active' },
  ]);
  if (isLeftIdle) endActivity(compute, suspended.endMs);
  else putOffSuspend(compute, started.endMs, 0);
}

/** Runs the steps `before`, and then applies a configuration to active computes. */
export function runConfigs(
  project: ProjectState,
  { computes, before = [], ...start }: ChainStart & StartPlan,
): ChainEnd {
  const steps = [...before, ...computes.map((compute) => stepOn(kinds.apply_config, compute))];
  const end = runChain(project, { ...start, notBeforeMs: beginOf(computes, start), steps });
  for (const compute of computes) {
    compute.freeAtMs = end.endMs;
    putOffSuspend(compute, end.endMs, useMsOf(project, start));
  }
  return end;
}

/**
 * Applies a configuration. An idle compute "becomes active for a short period of time and is suspended afterward"
 * (public contract), for which the service starts no `start_compute`.
 */
export function runConfig(
  project: ProjectState,
  { compute, ...start }: ChainStart & { readonly compute: Compute },
): ChainEnd {
  if (compute.activeSpan !== undefined) return runConfigs(project, { computes: [compute], ...start });
  const configure = stepOn(kinds.apply_config, compute);
  const atMs = beginOf([compute], start);
  const steps = [configure, stepOn(kinds.suspend_compute, compute)];
  const end = runChain(project, { ...start, notBeforeMs: atMs, steps });
  const [configured = end] = end.ends;
  compute.freeAtMs = end.endMs;
  enterPhases(compute, atMs, [
    { atMs, current: 'idle', pending: 'active' },
    ...(configured.isFinished
      ? ([{ atMs: configured.shownEndMs, current: 'active', pending: 'idle' }] as const)
      : []),
    { atMs: end.shownEndMs, current: 'idle' },
  ]);
  return end;
}

/** "Every connection resets the inactivity timer" (specification). From then on the compute is used for `useMs`. */
export function putOffSuspend({ activeSpan, ...compute }: Compute, fromMs: number, useMs: number): void {
  if (activeSpan === undefined) return;
  activeSpan.usedUntilMs = Math.max(activeSpan.usedUntilMs, fromMs + useMs);
  activeSpan.untilMs = Math.max(activeSpan.untilMs, activeSpan.usedUntilMs + suspendAfterMs(compute));
}

/** A chain waits for the operations that are at work on its computes. */
function beginOf(computes: readonly Compute[], { atMs }: ChainStart): number {
  return Math.max(atMs, ...computes.map(({ freeAtMs }) => freeAtMs));
}

/** Returns the state of the compute at this time, which is `init` when the compute never ran. */
function stateBefore(compute: Compute, atMs: number) {
  return compute.phases.length === 0 ? 'init' : phaseAt(compute, atMs).current;
}

function beginActivity(project: ProjectState, compute: Compute, fromMs: number, start: ChainStart): void {
  const { endpoint_id: endpointId, branch_id: branchId } = compute;
  compute.activeSpan = { endpointId, branchId, fromMs, usedUntilMs: fromMs, untilMs: fromMs };
  project.activeSpans.push(compute.activeSpan);
  putOffSuspend(compute, fromMs, useMsOf(project, start));
}

function endActivity(compute: Compute, atMs: number): void {
  const { activeSpan } = compute;
  compute.activeSpan = undefined;
  if (activeSpan === undefined) return;
  activeSpan.usedUntilMs = Math.min(activeSpan.usedUntilMs, atMs);
  activeSpan.untilMs = atMs;
}

/**
 * Simulated users stay for a minute on average. A caller of the API shows by further calls that it uses the compute.
 */
function useMsOf({ random }: ProjectState, { byCommand }: ChainStart): number {
  return byCommand === true ? 0 : drawWaitMs(MEAN_USE_MS, random);
}

export interface NewConnections {
  readonly count: number;
  /** Clients of the pooler share a few connections to Postgres, so they do not count toward `max_connections`. */
  readonly isPooled: boolean;
}

export const ONE_CONNECTION: NewConnections = { count: 1, isPooled: false };

/** The pooler takes "up to 10,000 concurrent client connections" (specification "Limits"). */
export const POOLED_CONNECTIONS_MAX = 10_000;

/**
 * Returns why the connections cannot be opened: either all of them open or none. The sentences are those of Postgres
 * and its pooler.
 */
export function refusalOfConnections(
  { connectionCount, pooledConnectionCount, config }: Compute,
  { count, isPooled }: NewConnections,
): Refused | undefined {
  if (isPooled)
    return pooledConnectionCount + count > POOLED_CONNECTIONS_MAX
      ? refused(409, 'FATAL: no more connections allowed (max_client_conn)')
      : undefined;
  return connectionCount + count > maxConnectionsOf(config.size)
    ? refused(409, 'FATAL: sorry, too many clients already (SQLSTATE 53300)')
    : undefined;
}

export function openConnections(compute: Compute, { count, isPooled }: NewConnections): void {
  if (isPooled) compute.pooledConnectionCount += count;
  else compute.connectionCount += count;
}

/** A suspend and a restart drop all connections, those of the pooler's clients too. */
function dropConnections(compute: Compute): void {
  compute.connectionCount = 0;
  compute.pooledConnectionCount = 0;
}
