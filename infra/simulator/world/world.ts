/**
 * Keeps the simulated service's state: projects that live and operations that run. There is no I/O and no clock. The
 * seed decides everything, and the size of the time steps does not matter, because every project draws from dice of
 * its own.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { drawWaitMs } from './operations/operation-life.ts';
import { beginLife, beginNewLife, dueMsOf, live } from './project-life.ts';
import type { GroundTruthOperation } from './state/ground-truth.ts';
import { PLANS, type PlanName } from './state/plan.ts';
import {
  createProjectState,
  type ProjectState,
  type WorldOperation,
  type WorldProject,
} from './state/project-state.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly projectCount: number;
  /** This is the service's first instant. `historyMs` of it lie before `startAtMs`. */
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
  /** The account's plan limits the size of computes. The default is `scale`, which has every size. */
  readonly plan?: PlanName;
}

export interface World {
  readonly nowMs: number;
  advanceTo(nowMs: number): void;
  /** Projects are in the order of their ids, as in the list. */
  projects(): readonly WorldProject[];
  project(projectId: string): ProjectState | undefined;
  groundTruth(): readonly GroundTruthOperation[];
}

const HOUR_MS = 3_600_000;
const HISTORY_MS = 3 * HOUR_MS;

/** A demonstration needs this much life: with 25 projects a status changes about every two seconds. */
export const SESSIONS_PER_HOUR = 20;
const ZIPF_EXPONENT = 0.8;

/** Projects that exist at the start were made in the two months before. */
const AGE_MS_MAX = 60 * 24 * HOUR_MS;

/** Users make a new project now and then. Their number is bounded, because a world may run for days. */
const NEW_PROJECT_EVERY_MS = HOUR_MS / 2;
const NEW_PROJECTS_MAX = 200;

interface Account {
  readonly options: WorldOptions;
  readonly random: Random;
  readonly projects: Map<string, ProjectState>;
  nextBirthMs: number;
  nowMs: number;
}

export function createWorld(options: WorldOptions): World {
  const account = createAccount(options);
  const { projects } = account;
  let inOrder: readonly WorldProject[] = [];
  advance(account, options.startAtMs);
  return {
    get nowMs() {
      return account.nowMs;
    },
    advanceTo: (toMs) => advance(account, toMs),
    projects() {
      if (inOrder.length !== projects.size)
        inOrder = [...projects.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return inOrder;
    },
    project: (id) => projects.get(id),
    groundTruth: () => [...projects.values()].flatMap((project) => truthOf(project, account.nowMs)),
  };
}

function createAccount(options: WorldOptions): Account {
  const { seed, projectCount, startAtMs, historyMs = HISTORY_MS } = options;
  const birthMs = startAtMs - historyMs;
  const random = seededRandom(seed);
  const account: Account = { options, random, projects: new Map(), nextBirthMs: 0, nowMs: birthMs };
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

function addProject(account: Account, createdAtMs: number, activity: number): ProjectState {
  const { random, projects } = account;
  const {
    sessionsPerHour = SESSIONS_PER_HOUR,
    tieChance = 0,
    stuckChance = 0,
    trouble = 1,
    plan = 'scale',
  } = account.options;
  const project = createProjectState({
    seed: Math.floor(random.next() * 2 ** 32),
    createdAtMs,
    meanGapMs: HOUR_MS / (sessionsPerHour * activity),
    tieChance,
    stuckChance,
    trouble,
    plan: PLANS[plan],
  });
  projects.set(project.id, project);
  return project;
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
