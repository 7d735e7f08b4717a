/**
 * Describes what the simulated service knows of one project: its settings, its computes, its operations, its auth
 * integration, and what happens next. The ground truth has every state that every operation ever had, and tests
 * compare the bridge with it.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { type Branch, createBranchState, firstContent } from './branch.ts';
import { type ActiveSpan, type Compute, createCompute, type PROVISIONERS } from './compute.ts';
import { drawBranchId, drawProjectId, drawProjectName, drawUuid } from './names.ts';
import type { ComputeSize, Plan } from './offer.ts';

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
  /** The next session belongs to a story. */
  scene: Scene | undefined;
  nextCheckMs: number;
}

/** A story decides how an operation ends: it fails once and then finishes, or it comes to nothing. */
export type Fate = 'heals' | 'breaks';

/** In a scene of a story, users make a branch, and a fate says how that goes. Without one, it simply finishes. */
export interface Scene {
  readonly fate: Fate | undefined;
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
    scene: undefined,
    nextCheckMs: Number.POSITIVE_INFINITY,
  };
}

/** Counts within the billing period, which is a month here. */
export function usedSecondsOf(project: Pick<WorldProject, 'activeSpans'>, nowMs: number): number {
  return activeSecondsOf(project, nowMs) - activeSecondsOf(project, monthStartMs(nowMs, 0));
}

export function activeSecondsOf({ activeSpans }: Pick<WorldProject, 'activeSpans'>, nowMs: number): number {
  const activeMs = activeSpans.reduce(
    (sum, { fromMs, untilMs }) => sum + Math.max(0, Math.min(nowMs, untilMs) - fromMs),
    0,
  );
  return Math.floor(activeMs / 1_000);
}

export function monthStartMs(nowMs: number, monthsLater: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsLater);
}

/** Draws a new branch with its compute. */
export function drawCompute(random: Random, atMs: number): Compute {
  return createCompute(random, { branch_id: drawBranchId(random), atMs });
}

export interface ProjectSettings {
  readonly name: string;
  readonly regionId: string;
  readonly pgVersion: number;
  readonly provisioner: (typeof PROVISIONERS)[number];
  readonly organizationId: string;
  readonly storesPasswords: boolean;
  readonly historyRetentionSeconds: number;
  readonly defaultSize: ComputeSize;
  readonly defaultSuspendTimeoutSeconds: number;
  /** Only Postgres and the proxy use these members of the public `settings`, so they are kept as they are. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** This organization owns every project of a new world. */
export const ORGANIZATION_ID = 'org-quiet-harbor-10000001';

export const DEFAULT_PROJECT: Omit<ProjectSettings, 'name'> = {
  regionId: 'aws-us-east-2',
  pgVersion: 17,
  provisioner: 'k8s-neonvm',
  organizationId: ORGANIZATION_ID,
  storesPasswords: true,
  historyRetentionSeconds: 86_400,
  defaultSize: { minCu: 0.25, maxCu: 2 },
  defaultSuspendTimeoutSeconds: 0,
  settings: {
    allowed_ips: { ips: [], protected_branches_only: false },
    enable_logical_replication: false,
    maintenance_window: { weekdays: [5], start_time: '07:00', end_time: '08:00' },
    block_public_connections: false,
    block_vpc_connections: false,
    hipaa: false,
  },
};

/** The proxy of a region takes its connections; `aws-us-east-2` gives `us-east-2.aws.service.example`. */
export function proxyHostOf({ regionId }: Pick<ProjectSettings, 'regionId'>): string {
  const [platform = '', ...region] = regionId.split('-');
  return `${region.join('-')}.${platform}.service.example`;
}

export interface NewProject {
  /** Without a name, the project is named as its id. */
  readonly name: string | undefined;
  readonly settings: Omit<ProjectSettings, 'name'>;
  readonly branchName?: string | undefined;
  readonly roleName?: string | undefined;
  readonly databaseName?: string | undefined;
}

interface AuthUser {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly created_at: string;
}

export interface OauthProvider {
  readonly id: string;
  readonly type: 'shared' | 'standard';
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

interface RedirectDomain {
  readonly domain: string;
  readonly auth_provider: string;
}

export type EmailServer =
  | { readonly type: 'shared' }
  | {
      readonly type: 'standard';
      readonly host: string;
      readonly port: number;
      readonly username: string;
      readonly password: string;
      readonly sender_email: string;
      readonly sender_name: string;
    };

export interface AuthIntegration {
  readonly auth_provider: string;
  readonly auth_provider_project_id: string;
  readonly branch_id: string;
  readonly db_name: string;
  readonly created_at: string;
  /** The public contract knows two owners; `neon` is the service itself, while it manages the auth project. */
  readonly owned_by: 'neon' | 'user';
  readonly jwks_url: string;
  /** This says how far a transfer of ownership is (public contract), and is absent while there is none. */
  readonly transfer_status?: 'initiated' | 'finished';
}

export interface AuthState {
  readonly integration: AuthIntegration | undefined;
  /** The users table in the project's database contains these rows. */
  readonly users: readonly AuthUser[];
  readonly providers: readonly OauthProvider[];
  readonly domains: readonly RedirectDomain[];
  readonly emailServer: EmailServer;
  /** Callers have changed these settings, which have no effect in the simulated service. */
  readonly settings: Readonly<Record<string, object>>;
  /** Holds the codes of transfers that were not confirmed in a browser yet. */
  readonly transferCodes: readonly string[];
}

export const NO_AUTH: AuthState = {
  integration: undefined,
  users: [],
  providers: [],
  domains: [],
  emailServer: { type: 'shared' },
  settings: {},
  transferCodes: [],
};

export interface GroundTruthState {
  readonly at_ms: number;
  readonly status: string;
  readonly failures_count: number;
}

export interface GroundTruthOperation {
  readonly project_id: string;
  readonly operation_id: string;
  readonly action: string;
  readonly created_at_ms: number;
  /** The states are complete and in the order of time. */
  readonly states: readonly GroundTruthState[];
}
