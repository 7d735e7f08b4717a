/** Runs chains of operations that one command starts, for example `create_branch` and then `start_compute`. */

import { type Compute, enterPhases, phaseAt, suspendAfterMs } from './compute.ts';
import { drawUuid } from './names.ts';
import { drawLife, drawMs, drawWaitMs, kinds, type OperationKind } from './operation-life.ts';
import type { ProjectState } from './project-state.ts';

const MEAN_USE_MS = 60_000;

/**
 * A chain's first operation is usually, but not always, `running` in the answer that shows it (observed in public
 * payloads).
 */
const STARTS_RUNNING_SHARE = 0.6;

/** One request creates the operations of a chain, a few milliseconds apart. */
const CREATION_STEP_US_MAX = 5_000;

/**
 * A client may ask for its operations in the same millisecond in which it gets the answer, so these must exist by
 * then.
 */
const COMMAND_STEP_US_MAX = 10;

/** The project needs this pause between two chains. */
const PAUSE = { medianSeconds: 1, sigma: 0.5 };

export interface ChainPlan {
  readonly compute: Compute;
  readonly kinds: readonly OperationKind[];
  readonly atMs: number;
  /**
   * The value is true when a call of the API started the chain. Its answer shows the operations, so the first runs at
   * once and all exist from then on.
   */
  readonly byCommand?: boolean;
}

export interface ChainEnd {
  readonly endMs: number;
  readonly isFinished: boolean;
}

/** All operations of a chain are created at once. Each runs when the one before it has ended. */
export function runChain(project: ProjectState, plan: ChainPlan): ChainEnd {
  const stepUsMax = plan.byCommand === true ? COMMAND_STEP_US_MAX : CREATION_STEP_US_MAX;
  const earlierUs = plan.byCommand === true ? plan.kinds.length * COMMAND_STEP_US_MAX : 0;
  let createdUs = Math.floor(plan.atMs * 1_000) - earlierUs;
  let end: ChainEnd = { endMs: plan.atMs, isFinished: true };
  for (const operation of plan.kinds) {
    end = runOperation(project, { operation, plan, createdUs, before: end });
    const stepUs = 1 + Math.floor(project.random.next() * stepUsMax);
    createdUs += project.oddities.next() < project.tieChance ? 0 : stepUs;
  }
  return { ...end, endMs: end.endMs + drawMs(PAUSE, project.random) };
}

/** Runs a chain that ends with `start_compute`, and a suspend once the compute was used and then left alone. */
export function runStart(project: ProjectState, plan: ChainPlan): ChainEnd {
  const { compute } = plan;
  const end = runChain(project, { ...plan, kinds: [...plan.kinds, kinds.start_compute] });
  const before = phaseAt(compute, plan.atMs);
  const from = compute.phases.length === 0 ? 'init' : before.current;
  const begin = { atMs: plan.atMs, current: from, pending: 'active' } as const;
  enterPhases(compute, plan.atMs, [
    begin,
    { atMs: end.endMs, current: end.isFinished ? 'active' : from === 'init' ? 'idle' : from },
  ]);
  if (!end.isFinished) return end;
  compute.activeSpan = { fromMs: end.endMs, untilMs: end.endMs };
  project.activeSpans.push(compute.activeSpan);
  putOffSuspend(project, compute, end.endMs, useMsOf(project, plan));
  return end;
}

/** Simulated users stay for a while. A caller of the API shows by further calls that it uses the compute. */
function useMsOf({ random }: ProjectState, { byCommand }: ChainPlan): number {
  return byCommand === true ? 0 : drawWaitMs(MEAN_USE_MS, random);
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

interface OperationPlan {
  readonly operation: OperationKind;
  readonly plan: ChainPlan;
  readonly createdUs: number;
  readonly before: ChainEnd;
}

function runOperation(
  project: ProjectState,
  { operation, plan, createdUs, before }: OperationPlan,
): ChainEnd {
  const { random, oddities } = project;
  const isFirst = operation === plan.kinds[0];
  const life = {
    createdAtMs: createdUs / 1_000,
    runsFromMs: Math.max(before.endMs, createdUs / 1_000),
    startsRunning: isFirst && (random.next() < STARTS_RUNNING_SHARE || plan.byCommand === true),
    isBypassed: !before.isFinished,
  };
  const states = drawLife(operation, { ...life, trouble: project.trouble }, random);
  project.operations.push({
    id: drawUuid(random),
    project_id: project.id,
    branch_id: plan.compute.branch_id,
    endpoint_id: operation.hasEndpoint ? plan.compute.endpoint_id : undefined,
    action: operation.action,
    created_us: createdUs,
    // A stuck operation delays no other one, so that all the others live as they would have.
    states: oddities.next() < project.stuckChance ? untilRunning(states) : states,
  });
  const last = states.at(-1);
  return { endMs: last?.at_ms ?? plan.atMs, isFinished: last?.status === 'finished' };
}

function untilRunning<State extends { readonly status: string }>(states: readonly State[]): readonly State[] {
  const running = states.findIndex(({ status }) => status === 'running');
  return running === -1 ? states : states.slice(0, running + 1);
}
