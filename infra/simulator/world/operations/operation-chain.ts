/** Runs chains of operations that one command starts, for example `create_branch` and then `start_compute`. */

import type { Compute } from '../state/compute.ts';
import { drawUuid } from '../state/names.ts';
import type { ProjectState } from '../state/project-state.ts';
import { drawLife, drawMs, kinds, type OperationKind } from './operation-life.ts';

/**
 * A chain's first operation is usually, but not always, `running` in the answer that shows it (observed in public
 * payloads).
 */
const STARTS_RUNNING_SHARE = 0.6;

/** One request creates the operations of a chain, each up to five milliseconds after the one before. */
const CREATION_STEP_US_MAX = 5_000;

/**
 * A client may ask for its operations in the same millisecond in which it gets the answer, so these must exist by
 * then.
 */
const COMMAND_STEP_US_MAX = 10;

/** The project needs this pause between two chains. */
const PAUSE = { medianSeconds: 1, sigma: 0.5 };

/** A step is one operation of a chain, with the branch and the compute that it is for. */
export interface ChainStep {
  readonly kind: OperationKind;
  readonly branchId?: string | undefined;
  readonly endpointId?: string | undefined;
}

export function stepOn(
  kind: OperationKind,
  { branch_id, endpoint_id }: Pick<Compute, 'branch_id' | 'endpoint_id'>,
): ChainStep {
  return { kind, branchId: branch_id, endpointId: kind.hasEndpoint ? endpoint_id : undefined };
}

interface ChainPlan {
  readonly steps: readonly ChainStep[];
  readonly atMs: number;
  /** The first operation does not run before this time. */
  readonly notBeforeMs?: number;
  /**
   * The value is true when a call of the API started the chain. Its answer shows the operations, so the first runs at
   * once and all exist from then on.
   */
  readonly byCommand?: boolean;
}

export interface OperationEnd {
  readonly endMs: number;
  /** An answer shows the end from then on. For an operation that is stuck this is infinity. */
  readonly shownEndMs: number;
  readonly isFinished: boolean;
}

/** The end of the last operation is the end of the chain. */
export interface ChainEnd extends OperationEnd {
  /** The ends of all operations are in the order in which these run. */
  readonly ends: readonly OperationEnd[];
  /** From this time on the project can run another chain. */
  readonly freeAtMs: number;
}

/**
 * All operations of a chain are created at once. Each runs when the one before it has ended. A project whose data were
 * put away gets them back first, with an operation that is not among the `ends`.
 */
export function runChain(project: ProjectState, plan: ChainPlan): ChainEnd {
  if (!project.isDetached) return runSteps(project, plan);
  const steps = [{ kind: kinds.tenant_reattach }, ...plan.steps];
  const end = runSteps(project, { ...plan, steps });
  const [reattached, ...ends] = end.ends;
  project.isDetached = reattached?.isFinished !== true;
  return { ...end, ends };
}

function runSteps(project: ProjectState, plan: ChainPlan): ChainEnd {
  const stepUsMax = plan.byCommand === true ? COMMAND_STEP_US_MAX : CREATION_STEP_US_MAX;
  const earlierUs = plan.byCommand === true ? plan.steps.length * COMMAND_STEP_US_MAX : 0;
  let createdUs = Math.floor(plan.atMs * 1_000) - earlierUs;
  const fromMs = Math.max(plan.atMs, plan.notBeforeMs ?? 0);
  let end: OperationEnd = { endMs: fromMs, shownEndMs: fromMs, isFinished: true };
  const ends: OperationEnd[] = [];
  for (const [place, step] of plan.steps.entries()) {
    end = runOperation(project, { step, isFirst: place === 0, plan, createdUs, before: end });
    ends.push(end);
    const stepUs = 1 + Math.floor(project.random.next() * stepUsMax);
    createdUs += project.oddities.next() < project.tieChance ? 0 : stepUs;
  }
  return { ...end, ends, freeAtMs: end.endMs + drawMs(PAUSE, project.random) };
}

interface OperationPlan {
  readonly step: ChainStep;
  readonly isFirst: boolean;
  readonly plan: ChainPlan;
  readonly createdUs: number;
  readonly before: OperationEnd;
}

function runOperation(
  project: ProjectState,
  { step, isFirst, plan, createdUs, before }: OperationPlan,
): OperationEnd {
  const { random, oddities } = project;
  const life = {
    createdAtMs: createdUs / 1_000,
    runsFromMs: Math.max(before.endMs, createdUs / 1_000),
    startsRunning:
      isFirst &&
      (random.next() < STARTS_RUNNING_SHARE || plan.byCommand === true) &&
      before.endMs <= plan.atMs,
    isBypassed: !before.isFinished,
  };
  const states = drawLife(step.kind, { ...life, trouble: project.trouble }, random);
  // A stuck operation delays no other one, so that all the others live as they would have.
  const isStuck = oddities.next() < project.stuckChance && states.some(({ status }) => status === 'running');
  project.operations.push({
    id: drawUuid(random),
    project_id: project.id,
    branch_id: step.branchId,
    endpoint_id: step.endpointId,
    action: step.kind.action,
    created_us: createdUs,
    states: isStuck ? untilRunning(states) : states,
  });
  const { at_ms: endMs = plan.atMs, status } = states.at(-1) ?? {};
  return { endMs, shownEndMs: isStuck ? Number.POSITIVE_INFINITY : endMs, isFinished: status === 'finished' };
}

function untilRunning<State extends { readonly status: string }>(states: readonly State[]): readonly State[] {
  return states.slice(0, states.findIndex(({ status }) => status === 'running') + 1);
}
