/**
 * Starts, suspends and restarts a compute. Its state follows its operations: it changes at the instant in which an
 * operation finishes, and it stays as it was when the operation comes to nothing.
 */

import { type Compute, enterPhases, phaseAt, suspendAfterMs } from './compute.ts';
import { type ChainEnd, type ChainPlan, runChain } from './operation-chain.ts';
import { drawWaitMs, kinds } from './operation-life.ts';
import type { ProjectState } from './project-state.ts';

const MEAN_USE_MS = 60_000;

/** Runs a chain that ends with `start_compute`. A suspend follows once the compute was used and then left alone. */
export function runStart(project: ProjectState, plan: ChainPlan): ChainEnd {
  const { compute, atMs } = plan;
  const from = compute.phases.length === 0 ? 'init' : phaseAt(compute, atMs).current;
  const end = runChain(project, { ...plan, kinds: [...plan.kinds, kinds.start_compute] });
  const fallback = from === 'init' ? 'idle' : from;
  enterPhases(compute, atMs, [
    { atMs, current: from, pending: 'active' },
    { atMs: end.shownEndMs, current: end.isFinished ? 'active' : fallback },
  ]);
  if (!end.isFinished) return end;
  compute.activeSpan = { fromMs: end.endMs, untilMs: end.endMs };
  project.activeSpans.push(compute.activeSpan);
  putOffSuspend(project, compute, end.endMs, useMsOf(project, plan));
  return end;
}

/** Suspends an active compute. When the operation comes to nothing, the compute stays active and is left alone again. */
export function runSuspend(project: ProjectState, plan: Omit<ChainPlan, 'kinds'>): ChainEnd {
  const { compute, atMs } = plan;
  compute.connectionCount = 0;
  const end = runChain(project, { ...plan, kinds: [kinds.suspend_compute] });
  enterPhases(compute, atMs, [
    { atMs, current: 'active', pending: 'idle' },
    { atMs: end.shownEndMs, current: end.isFinished ? 'idle' : 'active' },
  ]);
  if (end.isFinished) endActivity(compute, atMs);
  else putOffSuspend(project, compute, end.endMs, useMsOf(project, { ...plan, kinds: [] }));
  return end;
}

/** Suspends and starts an active compute. When only the suspend finishes, the compute is idle in the end. */
export function runRestart(project: ProjectState, plan: Omit<ChainPlan, 'kinds'>): ChainEnd {
  const { compute, atMs } = plan;
  compute.connectionCount = 0;
  const end = runChain(project, { ...plan, kinds: [kinds.suspend_compute, kinds.start_compute] });
  const [suspended, started] = end.ends;
  enterPhases(compute, atMs, [
    { atMs, current: 'active', pending: 'active' },
    ...(suspended?.isFinished
      ? [{ atMs: suspended.shownEndMs, current: 'idle', pending: 'active' } as const]
      : []),
    { atMs: end.shownEndMs, current: suspended?.isFinished && !started?.isFinished ? 'idle' : 'active' },
  ]);
  if (suspended?.isFinished && !started?.isFinished) endActivity(compute, suspended.endMs);
  else putOffSuspend(project, compute, end.endMs, 0);
  return end;
}

/** "Every connection resets the inactivity timer" (specification). */
export function putOffSuspend(
  project: ProjectState,
  compute: Compute,
  fromMs: number,
  useMs = useMsOf(project, { compute, kinds: [], atMs: fromMs }),
): void {
  const { activeSpan } = compute;
  if (activeSpan === undefined) return;
  const untilMs = fromMs + useMs + suspendAfterMs(compute);
  activeSpan.untilMs = Math.max(activeSpan.untilMs, untilMs);
}

function endActivity(compute: Compute, atMs: number): void {
  if (compute.activeSpan !== undefined) compute.activeSpan.untilMs = atMs;
  compute.activeSpan = undefined;
}

/** Simulated users stay for a while. A caller of the API shows by further calls that it uses the compute. */
function useMsOf({ random }: ProjectState, { byCommand }: ChainPlan): number {
  return byCommand === true ? 0 : drawWaitMs(MEAN_USE_MS, random);
}
