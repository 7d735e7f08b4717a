/**
 * Keeps the simulated service's state: projects that live and operations that run. There is no I/O and no clock. The
 * seed decides everything, and the size of the time steps does not matter, because every project draws from dice of
 * its own.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { PLANS, type Plan, type PlanName } from './offer.ts';
import { drawWaitMs } from './operation-life.ts';
import { beginLife, beginNewLife, dueMsOf, live, planStory } from './project-life.ts';
import type { GroundTruthOperation, NewProject } from './project-state.ts';
import {
  createProjectState,
  type ProjectState,
  usedSecondsOf,
  type WorldOperation,
  type WorldProject,
} from './project-state.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly projectCount: number;
  /**
   * The world begins to live at this time, in milliseconds since the epoch. A history of `historyMs` lies before it.
   */
  readonly startAtMs: number;
  readonly historyMs?: number;
  /**
   * An average project has this number of sessions an hour. The busiest of 25 projects has about four times as many
   * (Zipf). With 0, only callers make things happen: the service checks nothing and no user makes a project.
   */
  readonly sessionsPerHour?: number;
  /** With this chance, an operation is created in the very microsecond of the one before it in its chain. */
  readonly tieChance?: number;
  /** With this chance, an operation never ends once it runs. */
  readonly stuckChance?: number;
  /**
   * This says how often operations fail, are cancelled or skipped: 1 is as often as in a real service (the default),
   * 0 is never.
   */
  readonly trouble?: number;
  /** Soon after the start, users make three branches: one is ready at once, one after a failure, and one never. */
  readonly hasStory?: boolean;
  /** One project has a quota of active time, of which it uses three quarters soon after the start. */
  readonly hasBudget?: boolean;
  /** The account's plan limits the size of computes. The default is `scale`, which has every size. */
  readonly plan?: PlanName;
}

export interface World {
  readonly plan: Plan;
  /** The unit is milliseconds since the epoch. The organizations are older than their projects. */
  readonly accountCreatedAtMs: number;
  readonly nowMs: number;
  advanceTo(nowMs: number): void;
  /** Projects are in the order of their ids, as in the list. */
  projects(): readonly WorldProject[];
  /** Returns undefined for a project that is deleted. */
  readonly project: (projectId: string) => ProjectState | undefined;
  /** Returns a deleted project, too, until the service forgets it. */
  readonly projectEvenDeleted: (projectId: string) => ProjectState | undefined;
  /** Creates a project in which only callers make things happen. Returns undefined when the world is full. */
  readonly createProject: (request: NewProject) => ProjectState | undefined;
  groundTruth(): readonly GroundTruthOperation[];
}

const HOUR_MS = 3_600_000;
const HISTORY_MS = 3 * HOUR_MS;

/** A demonstration needs this much life: with 25 projects a status changes about every two seconds. */
export const SESSIONS_PER_HOUR = 20;
const ZIPF_EXPONENT = 0.8;

/** Projects that exist at the start were made in the two months before. */
const AGE_MS_MAX = 60 * 24 * HOUR_MS;

/** At its start, the account is older than any of its projects. */
const ACCOUNT_AGE_MS = 90 * 24 * HOUR_MS;

/** Users make a new project now and then. Their number is bounded, because a world may run for days. */
const NEW_PROJECT_EVERY_MS = HOUR_MS / 2;
const NEW_PROJECTS_MAX = 200;

/** An account of the real service is limited by its plan. This bound keeps a world that runs for days small. */
const PROJECTS_MAX = 10_000;

/** The service forgets a deleted project after a week, which is how long it can be recovered (public contract). */
const DELETED_KEPT_MS = 7 * 24 * HOUR_MS;

interface Account {
  readonly options: WorldOptions;
  readonly random: Random;
  /** Draws the seeds of the projects that callers create, so that these do not change which projects users make. */
  readonly callDice: Random;
  /** Counts the projects that came and went. */
  changeCount: number;
  readonly projects: Map<string, ProjectState>;
  nextBirthMs: number;
  nowMs: number;
}

export function createWorld(options: WorldOptions): World {
  const account = createAccount(options);
  const { projects } = account;
  let inOrder: readonly WorldProject[] = [];
  let inOrderCount = 0;
  advance(account, options.startAtMs);
  if (options.hasStory === true) planStory(projects.values(), options.startAtMs);
  if (options.hasBudget === true) setBudget(projects.values(), options.startAtMs);
  return {
    plan: PLANS[options.plan ?? 'scale'],
    accountCreatedAtMs: options.startAtMs - ACCOUNT_AGE_MS,
    get nowMs() {
      return account.nowMs;
    },
    advanceTo: (toMs) => advance(account, toMs),
    projects() {
      if (inOrderCount !== account.changeCount) {
        inOrder = [...projects.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
        inOrderCount = account.changeCount;
      }
      return inOrder.filter(({ deletedAtMs }) => deletedAtMs === undefined);
    },
    project(id) {
      const project = projects.get(id);
      return project?.deletedAtMs === undefined ? project : undefined;
    },
    projectEvenDeleted(id) {
      forgetDeleted(account);
      return projects.get(id);
    },
    createProject: (request) => createProject(account, request),
    groundTruth: () => [...projects.values()].flatMap((project) => truthOf(project, account.nowMs)),
  };
}

function createAccount(options: WorldOptions): Account {
  const { seed, projectCount, startAtMs, historyMs = HISTORY_MS } = options;
  const birthMs = startAtMs - historyMs;
  const random = seededRandom(seed);
  const account: Account = {
    options,
    random,
    callDice: seededRandom(seed + 5),
    changeCount: 0,
    projects: new Map(),
    nextBirthMs: 0,
    nowMs: birthMs,
  };
  const weights = Array.from({ length: projectCount }, (_, place) => (place + 1) ** -ZIPF_EXPONENT);
  const meanWeight = weights.reduce((sum, weight) => sum + weight, 0) / Math.max(1, projectCount);
  for (const weight of weights) {
    const project = addProject(account, birthMs - random.next() * AGE_MS_MAX, weight / meanWeight);
    beginLife(project, birthMs);
  }
  // The first birth comes after the start, so that a world begins with exactly the requested number of projects.
  const isLeftAlone = options.sessionsPerHour === 0;
  const birthEveryMs = isLeftAlone ? Number.POSITIVE_INFINITY : NEW_PROJECT_EVERY_MS;
  account.nextBirthMs = startAtMs + drawWaitMs(birthEveryMs, random);
  return account;
}

function advance(account: Account, toMs: number): void {
  if (toMs <= account.nowMs) return;
  const { options, projects, random } = account;
  while (account.nextBirthMs <= toMs && projects.size < options.projectCount + NEW_PROJECTS_MAX) {
    beginNewLife(addProject(account, account.nextBirthMs, 1), account.nextBirthMs);
    account.nextBirthMs += drawWaitMs(NEW_PROJECT_EVERY_MS, random);
  }
  for (const project of projects.values()) if (dueMsOf(project) <= toMs) live(project, toMs);
  account.nowMs = toMs;
}

/** When the busiest project has been active for this much longer, it has used three quarters of its quota. */
const BUDGET_SECONDS = 20;

function setBudget(projects: Iterable<ProjectState>, nowMs: number): void {
  const [busiest] = [...projects].toSorted((a, b) => usedSecondsOf(b, nowMs) - usedSecondsOf(a, nowMs));
  if (busiest === undefined) return;
  const quota = { active_time_seconds: Math.ceil((usedSecondsOf(busiest, nowMs) + BUDGET_SECONDS) / 0.75) };
  busiest.settings = { ...busiest.settings, settings: { ...busiest.settings.settings, quota } };
}

function createProject(account: Account, request: NewProject): ProjectState | undefined {
  const { projects, nowMs, callDice } = account;
  forgetDeleted(account);
  if (projects.size >= PROJECTS_MAX) return undefined;
  const project = createProjectState({
    ...oddsOf(account),
    seed: Math.floor(callDice.next() * 2 ** 32),
    createdAtMs: nowMs,
    meanGapMs: Number.POSITIVE_INFINITY,
    request,
  });
  projects.set(project.id, project);
  account.changeCount += 1;
  return project;
}

function forgetDeleted(account: Account): void {
  for (const { id, deletedAtMs = Number.POSITIVE_INFINITY } of account.projects.values()) {
    if (deletedAtMs + DELETED_KEPT_MS > account.nowMs) continue;
    account.projects.delete(id);
    account.changeCount += 1;
  }
}

function addProject(account: Account, createdAtMs: number, activity: number): ProjectState {
  const { random, projects } = account;
  const { sessionsPerHour = SESSIONS_PER_HOUR } = account.options;
  const project = createProjectState({
    ...oddsOf(account),
    seed: Math.floor(random.next() * 2 ** 32),
    createdAtMs,
    meanGapMs: HOUR_MS / (sessionsPerHour * activity),
  });
  projects.set(project.id, project);
  account.changeCount += 1;
  return project;
}

function oddsOf({ options }: Account) {
  const { tieChance = 0, stuckChance = 0, trouble = 1, plan = 'scale' } = options;
  return { tieChance, stuckChance, trouble, plan: PLANS[plan] };
}

function truthOf({ operations }: WorldProject, nowMs: number): readonly GroundTruthOperation[] {
  return operations.filter(({ created_us }) => created_us / 1_000 <= nowMs).map((op) => seenAt(op, nowMs));
}

function seenAt(op: WorldOperation, nowMs: number): GroundTruthOperation {
  return {
    project_id: op.project_id,
    operation_id: op.id,
    action: op.action,
    created_at_ms: op.created_us / 1_000,
    states: op.states.filter(({ at_ms }) => at_ms <= nowMs),
  };
}
