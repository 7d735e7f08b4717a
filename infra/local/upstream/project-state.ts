/** What the simulated service knows of one project: its computes, its operations, and what happens next. */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import type { GroundTruthState } from './ground-truth.ts';
import { drawBranchId, drawEndpointId, drawProjectId } from './names.ts';

export interface WorldOperation {
  readonly id: string;
  readonly project_id: string;
  readonly branch_id: string;
  readonly endpoint_id: string | undefined;
  readonly action: string;
  /** Microseconds since the epoch: as fine as the service's cursors. */
  readonly created_us: number;
  /** Drawn at once, so the later ones may lie in the future. */
  readonly states: readonly GroundTruthState[];
}

export interface ActiveSpan {
  readonly fromMs: number;
  /** When the compute suspends; activity puts it off. */
  untilMs: number;
}

export interface Compute {
  readonly branch_id: string;
  readonly endpoint_id: string;
  isArchived: boolean;
  /** Undefined while suspended. */
  activeSpan: ActiveSpan | undefined;
}

/** What the HTTP face may see of a project. */
export interface WorldProject {
  readonly id: string;
  readonly created_at_ms: number;
  /** Oldest first. */
  readonly operations: readonly WorldOperation[];
  /** Oldest first, of all computes. */
  readonly activeSpans: readonly Readonly<ActiveSpan>[];
}

export interface ProjectState extends WorldProject {
  readonly operations: WorldOperation[];
  readonly activeSpans: ActiveSpan[];
  readonly computes: Compute[];
  readonly main: Compute;
  readonly random: Random;
  /** Dice of their own: a world with ties or stuck operations is otherwise the same world. */
  readonly oddities: Random;
  readonly meanGapMs: number;
  readonly tieChance: number;
  readonly stuckChance: number;
  nextSessionMs: number;
  nextCheckMs: number;
}

export interface ProjectOptions {
  readonly seed: number;
  readonly createdAtMs: number;
  readonly meanGapMs: number;
  /** Chance that an operation is created in the very microsecond of the one before it in its chain. */
  readonly tieChance: number;
  /** Chance that an operation, once running, never ends. */
  readonly stuckChance: number;
}

export function createProjectState({ seed, createdAtMs, ...odds }: ProjectOptions): ProjectState {
  const random = seededRandom(seed);
  const id = drawProjectId(random);
  const main = drawCompute(random);
  return {
    ...odds,
    id,
    created_at_ms: createdAtMs,
    operations: [],
    activeSpans: [],
    computes: [main],
    main,
    random,
    oddities: seededRandom(seed + 1),
    nextSessionMs: Number.POSITIVE_INFINITY,
    nextCheckMs: Number.POSITIVE_INFINITY,
  };
}

export function drawCompute(random: Random): Compute {
  return {
    branch_id: drawBranchId(random),
    endpoint_id: drawEndpointId(random),
    isArchived: false,
    activeSpan: undefined,
  };
}
