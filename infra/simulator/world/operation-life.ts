/**
 * Draws the whole life of one operation, its statuses and when each begins, and runs chains of operations that one
 * command starts, for example `create_branch` and then `start_compute`.
 */

import type { Random } from '../../../shared/runtime/random.ts';
import type { Compute } from './compute.ts';
import { drawUuid } from './names.ts';
import type { Fate, GroundTruthState, ProjectState } from './project-state.ts';

interface OperationKind {
  readonly action: string;
  /**
   * An operation runs for this median time in seconds, of a lognormal distribution with this sigma. The medians are
   * from public payloads.
   */
  readonly medianSeconds: number;
  readonly sigma: number;
  readonly hasEndpoint: boolean;
}

const kindOf = (action: string, medianSeconds: number, sigma: number, hasEndpoint = true): OperationKind => ({
  action,
  medianSeconds,
  sigma,
  hasEndpoint,
});

export const kinds = {
  create_timeline: kindOf('create_timeline', 3, 0.5, false),
  create_branch: kindOf('create_branch', 2, 0.9, false),
  start_compute: kindOf('start_compute', 0.8, 0.6),
  suspend_compute: kindOf('suspend_compute', 2, 0.7),
  apply_config: kindOf('apply_config', 3, 1),
  check_availability: kindOf('check_availability', 4, 0.3),
  timeline_archive: kindOf('timeline_archive', 45, 0.9, false),
  timeline_unarchive: kindOf('timeline_unarchive', 30, 0.9, false),
  apply_storage_config: kindOf('apply_storage_config', 1, 0.5, false),
  tenant_detach: kindOf('tenant_detach', 20, 0.9, false),
  tenant_reattach: kindOf('tenant_reattach', 20, 0.9, false),
  delete_tenant: kindOf('delete_tenant', 3, 0.7, false),
  tenant_attach: kindOf('tenant_attach', 45, 0.9, false),
  /** The public contract has this action and the specification's table lacks it: actions are an open set. */
  delete_timeline: kindOf('delete_timeline', 2, 0.7, false),
} as const;

/** These shares of operations do not simply finish. The specification shows the statuses and not their frequency. */
const SHARES = { fails: 0.03, givesUp: 0.2, cancels: 0.015, skips: 0.01, errors: 0.003 };

const SCHEDULING = { medianSeconds: 0.15, sigma: 0.5 };
const RETRY = { medianSeconds: 60, sigma: 1.2 };
const ATTEMPTS_MAX = 6;

interface LifeOptions {
  readonly createdAtMs: number;
  /** An operation waits for the end of the one before it in its chain. */
  readonly runsFromMs: number;
  /** The first operation of a chain usually starts as `running`. */
  readonly startsRunning: boolean;
  /** The operation before it came to nothing, so it has nothing to do: "bypassed without executing". */
  readonly isBypassed: boolean;
  /** This says how often operations end badly: 1 is as often as in a real service, 0 is never. */
  readonly trouble: number;
  readonly fate: Fate | undefined;
}

/** An operation of a story is tried again after this time, so that a visitor sees its end. */
const STORY_RETRY_MS = 12_000;

/** Returns the states in the order of time; the last one is final. */
function drawLife(
  operation: OperationKind,
  { createdAtMs, runsFromMs, startsRunning, isBypassed, trouble, fate }: LifeOptions,
  random: Random,
): readonly GroundTruthState[] {
  const states: GroundTruthState[] = [];
  let failures = 0;
  const enter = (at_ms: number, status: string) => states.push({ at_ms, status, failures_count: failures });

  enter(createdAtMs, startsRunning ? 'running' : 'scheduling');
  if (!startsRunning && (isBypassed || random.next() < SHARES.skips * trouble)) {
    enter(runsFromMs + drawMs(SCHEDULING, random), 'skipped');
    return states;
  }
  let atMs = startsRunning ? createdAtMs : runsFromMs + drawMs(SCHEDULING, random);
  if (!startsRunning) enter(atMs, 'running');
  for (let attempt = 1; ; attempt++) {
    atMs += drawMs(operation, random);
    const end = fate === undefined ? drawEnd(attempt, random, trouble) : endOf(fate, attempt);
    if (end === 'cancelling') {
      enter(atMs, 'cancelling');
      enter(atMs + drawMs(SCHEDULING, random) * 5, 'cancelled');
      return states;
    }
    if (end !== 'failed') {
      enter(atMs, end);
      return states;
    }
    failures += 1;
    enter(atMs, 'failed');
    if (fate === undefined && (attempt === ATTEMPTS_MAX || random.next() < SHARES.givesUp)) return states;
    atMs += fate === undefined ? drawMs(RETRY, random) : STORY_RETRY_MS;
    enter(atMs, 'running');
  }
}

function endOf(fate: Fate, attempt: number): 'failed' | 'error' | 'finished' {
  if (fate === 'breaks') return 'error';
  return attempt === 1 ? 'failed' : 'finished';
}

/** An operation that has failed once fails again with a chance of 0.4, which is far above that of a first attempt. */
function drawEnd(
  attempt: number,
  random: Random,
  trouble: number,
): 'failed' | 'cancelling' | 'error' | 'finished' {
  // With little trouble, most dice fall beyond all shares.
  const dice = random.next() / trouble;
  const fails = attempt === 1 ? SHARES.fails : 0.4;
  if (dice < fails) return 'failed';
  if (dice < fails + SHARES.cancels) return 'cancelling';
  return dice < fails + SHARES.cancels + SHARES.errors ? 'error' : 'finished';
}

function drawMs({ medianSeconds, sigma }: { medianSeconds: number; sigma: number }, random: Random): number {
  return medianSeconds * 1_000 * Math.exp(sigma * drawNormal(random));
}

/** Draws an exponential waiting time in milliseconds. */
export function drawWaitMs(meanMs: number, random: Random): number {
  const dice = random.next();
  // Without this, an infinite mean times a logarithm of zero would be no number.
  return meanMs === Number.POSITIVE_INFINITY ? meanMs : -meanMs * Math.log(1 - dice);
}

/** Draws by the Box-Muller method. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

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
  readonly fate?: Fate | undefined;
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
  const states = drawLife(step.kind, { ...life, trouble: project.trouble, fate: step.fate }, random);
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
