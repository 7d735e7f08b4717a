/** Describes what the simulated service knows of one project: its computes, its operations, and what happens next. */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { type AuthState, NO_AUTH } from './auth-state.ts';
import { type ActiveSpan, type Compute, createCompute } from './compute.ts';
import type { GroundTruthState } from './ground-truth.ts';
import { drawBranchId, drawProjectId } from './names.ts';

export interface WorldOperation {
  readonly id: string;
  readonly project_id: string;
  readonly branch_id: string;
  readonly endpoint_id: string | undefined;
  readonly action: string;
  /** The unit is microseconds since the epoch, which is the resolution of the service's cursors. */
  readonly created_us: number;
  /** All states are drawn at once, so the later ones may lie in the future. */
  readonly states: readonly GroundTruthState[];
}

/** The HTTP routes may see this much of a project. */
export interface WorldProject {
  readonly id: string;
  readonly created_at_ms: number;
  /** The oldest operation comes first. */
  readonly operations: readonly WorldOperation[];
  /** The computes were active in these spans. The oldest comes first. */
  readonly activeSpans: readonly Readonly<ActiveSpan>[];
  readonly computes: readonly Compute[];
  readonly branchIds: ReadonlySet<string>;
  readonly auth: AuthState;
}

export interface ProjectState extends WorldProject {
  readonly operations: WorldOperation[];
  readonly activeSpans: ActiveSpan[];
  readonly computes: Compute[];
  /** This is the compute of the default branch, while that has one. */
  main: Compute;
  readonly branchIds: Set<string>;
  readonly deletedEndpointIds: Set<string>;
  auth: AuthState;
  readonly random: Random;
  /** These dice are apart from the world's, so that a world with ties or stuck operations is otherwise the same. */
  readonly oddities: Random;
  readonly meanGapMs: number;
  readonly tieChance: number;
  readonly stuckChance: number;
  readonly trouble: number;
  nextSessionMs: number;
  nextCheckMs: number;
}

export interface ProjectOptions {
  readonly seed: number;
  readonly createdAtMs: number;
  readonly meanGapMs: number;
  /** With this chance, an operation is created in the very microsecond of the one before it in its chain. */
  readonly tieChance: number;
  /** With this chance, an operation never ends once it runs. */
  readonly stuckChance: number;
  /**
   * This says how often operations fail, are cancelled or skipped: 1 is as often as in a real service, 0 is never.
   */
  readonly trouble: number;
}

export function createProjectState({ seed, createdAtMs, ...odds }: ProjectOptions): ProjectState {
  const random = seededRandom(seed);
  const id = drawProjectId(random);
  const main = drawCompute(random, createdAtMs);
  return {
    ...odds,
    id,
    created_at_ms: createdAtMs,
    operations: [],
    activeSpans: [],
    computes: [main],
    main,
    branchIds: new Set([main.branch_id]),
    deletedEndpointIds: new Set(),
    auth: NO_AUTH,
    random,
    oddities: seededRandom(seed + 1),
    nextSessionMs: Number.POSITIVE_INFINITY,
    nextCheckMs: Number.POSITIVE_INFINITY,
  };
}

/** Draws a new branch with its compute. */
export function drawCompute(random: Random, atMs: number): Compute {
  return createCompute(random, { branch_id: drawBranchId(random), atMs });
}

/** The production branch is the project's default branch, which is made with it. */
export function productionBranchIdOf({ branchIds }: Pick<WorldProject, 'branchIds'>): string | undefined {
  return branchIds.values().next().value;
}
