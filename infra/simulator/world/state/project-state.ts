/** Describes what the simulated service knows of one project: its computes, its operations, and what happens next. */

import { type Random, seededRandom } from '../../../../shared/runtime/random.ts';
import { type AuthState, NO_AUTH } from './auth-state.ts';
import { type Branch, createBranchState } from './branch.ts';
import { firstContent } from './branch-content.ts';
import { type ActiveSpan, type Compute, createCompute } from './compute.ts';
import type { GroundTruthState } from './ground-truth.ts';
import { drawBranchId, drawProjectId, drawProjectName, drawUuid } from './names.ts';
import type { NewProject } from './new-project.ts';
import type { Plan } from './plan.ts';
import { DEFAULT_PROJECT, type ProjectSettings } from './project-settings.ts';

export interface WorldOperation {
  readonly id: string;
  readonly project_id: string;
  /** An operation on the whole project has no branch. */
  readonly branch_id: string | undefined;
  readonly endpoint_id: string | undefined;
  readonly action: string;
  /** The unit is microseconds since the epoch, which is the resolution of the service's cursors. */
  readonly created_us: number;
  /** All states are drawn at once, so the later ones may lie in the future. */
  readonly states: readonly GroundTruthState[];
}

/** A person of another organization reaches the project. Times are milliseconds since the epoch. */
export interface Permission {
  readonly id: string;
  readonly email: string;
  readonly grantedAtMs: number;
  readonly revokedAtMs: number | undefined;
}

/** The HTTP routes may see this much of a project. */
export interface WorldProject {
  readonly id: string;
  readonly created_at_ms: number;
  /** The period in which the project is billed has this id. */
  readonly periodId: string;
  /** The oldest operation comes first. */
  readonly operations: readonly WorldOperation[];
  /** The computes were active in these spans. The oldest comes first. */
  readonly activeSpans: readonly Readonly<ActiveSpan>[];
  readonly computes: readonly Compute[];
  /** The keys are the ids of the branches, in the order of their creation. */
  readonly branches: ReadonlyMap<string, Branch>;
  readonly defaultBranchId: string;
  readonly settings: ProjectSettings;
  readonly updatedAtMs: number;
  readonly deletedAtMs: number | undefined;
  readonly permissions: readonly Permission[];
  readonly auth: AuthState;
  readonly plan: Plan;
}

export interface ProjectState extends WorldProject {
  readonly operations: WorldOperation[];
  readonly activeSpans: ActiveSpan[];
  readonly computes: Compute[];
  /** This is the compute of the default branch, while that has one. */
  main: Compute;
  readonly branches: Map<string, Branch>;
  defaultBranchId: string;
  settings: ProjectSettings;
  updatedAtMs: number;
  deletedAtMs: number | undefined;
  permissions: readonly Permission[];
  /** The storage has put the data away, because the project was not used for long. */
  isDetached: boolean;
  /** The project is not used from then on, but for the spans in which its computes are active. */
  idleFromMs: number;
  readonly deletedEndpointIds: Set<string>;
  /** Each request to transfer the project expires at this time. The keys are the ids of the requests. */
  readonly transferRequests: Map<string, number>;
  auth: AuthState;
  readonly random: Random;
  /** This draws passwords and ids of databases, so that these do not change the life of the project. */
  readonly contentDice: Random;
  /** These dice are apart from the world's, so that a world with ties or stuck operations is otherwise the same. */
  readonly oddities: Random;
  readonly meanGapMs: number;
  readonly tieChance: number;
  readonly stuckChance: number;
  readonly trouble: number;
  nextSessionMs: number;
  nextCheckMs: number;
}

/** The service gives this name to the first branch of a project (public contract). */
const DEFAULT_BRANCH = 'main';

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
  readonly plan: Plan;
  /** A project that a caller creates begins as the caller says. */
  readonly request?: NewProject;
}

export function createProjectState({ seed, createdAtMs, request, ...odds }: ProjectOptions): ProjectState {
  const random = seededRandom(seed);
  const id = drawProjectId(random);
  const contentDice = seededRandom(seed + 2);
  const main = drawCompute(random, createdAtMs);
  const branch = createBranchState(
    { id: main.branch_id, name: request?.branchName ?? DEFAULT_BRANCH, createdAtMs },
    firstContent(contentDice, {
      atMs: createdAtMs,
      roleName: request?.roleName,
      databaseName: request?.databaseName,
    }),
  );
  // These dice are apart from the others, so that names change nothing else.
  const name = request === undefined ? drawProjectName(seededRandom(seed + 3)) : (request.name ?? id);
  const settings = { ...DEFAULT_PROJECT, ...request?.settings, name };
  if (request !== undefined)
    main.config = {
      ...main.config,
      size: settings.defaultSize,
      suspendTimeoutSeconds: settings.defaultSuspendTimeoutSeconds,
      provisioner: settings.provisioner,
    };
  return {
    ...odds,
    id,
    created_at_ms: createdAtMs,
    periodId: drawUuid(contentDice),
    operations: [],
    activeSpans: [],
    computes: [main],
    main,
    branches: new Map([[branch.id, branch]]),
    defaultBranchId: branch.id,
    settings,
    updatedAtMs: createdAtMs,
    deletedAtMs: undefined,
    permissions: [],
    isDetached: false,
    idleFromMs: createdAtMs,
    deletedEndpointIds: new Set(),
    transferRequests: new Map(),
    auth: NO_AUTH,
    random,
    contentDice,
    oddities: seededRandom(seed + 1),
    nextSessionMs: Number.POSITIVE_INFINITY,
    nextCheckMs: Number.POSITIVE_INFINITY,
  };
}

/** Draws a new branch with its compute. */
export function drawCompute(random: Random, atMs: number): Compute {
  return createCompute(random, { branch_id: drawBranchId(random), atMs });
}
