/**
 * The simulated service's state: projects that live, operations that run. No I/O and no clock; the seed decides
 * everything, and it does not matter in which steps time advances, because every project draws from dice of its own.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import type { GroundTruthOperation, GroundTruthState } from './ground-truth.ts';
import { drawBranchId, drawEndpointId, drawProjectId, drawUuid } from './names.ts';
import { drawLife, drawMs, drawWaitMs, kinds, type OperationKind } from './operation-life.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly projectCount: number;
  /** The service's first instant; `historyMs` of it lie before `startAtMs`. */
  readonly startAtMs: number;
  readonly historyMs?: number;
  /** Of an average project. The busiest of 25 has about six times as many (Zipf). */
  readonly sessionsPerHour?: number;
  /** Chance that an operation is created in the very microsecond of the one before it. */
  readonly tieChance?: number;
}

export interface WorldOperation {
  readonly id: string;
  readonly project_id: string;
  readonly branch_id: string;
  readonly endpoint_id: string | undefined;
  readonly action: string;
  /** Microseconds since the epoch: as fine as the service's cursors. */
  readonly created_us: number;
  readonly states: readonly GroundTruthState[];
}

export interface WorldProject {
  readonly id: string;
  readonly created_at_ms: number;
  readonly branch_id: string;
  readonly endpoint_id: string;
  /** Oldest first. */
  readonly operations: WorldOperation[];
}

export interface World {
  readonly nowMs: number;
  advanceTo(nowMs: number): void;
  /** In the order of their ids, as the list has them. */
  projects(): readonly WorldProject[];
  project(projectId: string): WorldProject | undefined;
  groundTruth(): readonly GroundTruthOperation[];
}

const HOUR_MS = 3_600_000;
const HISTORY_MS = 3 * HOUR_MS;

/** Lively enough for a demonstration: with 25 projects something begins every few seconds. */
const SESSIONS_PER_HOUR = 30;
const ZIPF_EXPONENT = 0.8;

/** Specification "States and transitions": scale to zero after five minutes without activity. */
const SUSPEND_AFTER_MS = 5 * 60_000;
const MEAN_USE_MS = 60_000;

/** Public contract: a few seconds long, two to four hours apart. */
const CHECK_EVERY_MS = 3 * HOUR_MS;

/** A new project now and then, as users make them. */
const NEW_PROJECT_EVERY_MS = HOUR_MS / 2;
const NEW_PROJECTS_MAX = 200;

interface LivingProject extends WorldProject {
  readonly random: Random;
  readonly meanGapMs: number;
  nextSessionMs: number;
  nextCheckMs: number;
}

export function createWorld(options: WorldOptions): World {
  const { seed, projectCount, startAtMs, historyMs = HISTORY_MS } = options;
  const birthMs = startAtMs - historyMs;
  const births = seededRandom(seed);
  const projects = new Map<string, LivingProject>();
  let nextBirthMs = startAtMs + drawWaitMs(NEW_PROJECT_EVERY_MS, births);
  let nowMs = birthMs;

  const weights = Array.from({ length: projectCount }, (_, place) => (place + 1) ** -ZIPF_EXPONENT);
  const meanWeight = weights.reduce((sum, weight) => sum + weight, 0) / Math.max(1, projectCount);
  for (const weight of weights) addProject(birthMs, weight / meanWeight);

  const world: World = {
    get nowMs() {
      return nowMs;
    },
    advanceTo(toMs) {
      if (toMs <= nowMs) return;
      while (nextBirthMs <= toMs && projects.size < projectCount + NEW_PROJECTS_MAX) {
        createProjectAt(nextBirthMs);
        nextBirthMs += drawWaitMs(NEW_PROJECT_EVERY_MS, births);
      }
      for (const project of projects.values()) live(project, toMs);
      nowMs = toMs;
    },
    projects: () => [...projects.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    project: (id) => projects.get(id),
    groundTruth: () =>
      [...projects.values()].flatMap(({ operations }) =>
        operations.filter((op) => op.created_us / 1_000 <= nowMs).map((op) => truthOf(op, nowMs)),
      ),
  };
  world.advanceTo(startAtMs);
  return world;

  function addProject(atMs: number, activity: number): LivingProject {
    const random = seededRandom(Math.floor(births.next() * 2 ** 32));
    const meanGapMs = HOUR_MS / ((options.sessionsPerHour ?? SESSIONS_PER_HOUR) * activity);
    const project: LivingProject = {
      id: drawProjectId(random),
      created_at_ms: atMs,
      branch_id: drawBranchId(random),
      endpoint_id: drawEndpointId(random),
      operations: [],
      random,
      meanGapMs,
      nextSessionMs: atMs + drawWaitMs(meanGapMs, random),
      nextCheckMs: atMs + CHECK_EVERY_MS * (0.5 + random.next()),
    };
    projects.set(project.id, project);
    return project;
  }

  function createProjectAt(atMs: number): void {
    const project = addProject(atMs, 1);
    const endMs = runChain(project, [kinds.create_timeline, kinds.start_compute], atMs);
    project.nextSessionMs = Math.max(project.nextSessionMs, endMs);
  }

  /** Sessions of a project follow each other, so that no two chains conflict (the service would answer 423). */
  function live(project: LivingProject, toMs: number): void {
    while (Math.min(project.nextSessionMs, project.nextCheckMs) <= toMs) {
      if (project.nextCheckMs < project.nextSessionMs) {
        runChain(project, [kinds.check_availability], project.nextCheckMs);
        project.nextCheckMs += CHECK_EVERY_MS * (0.7 + project.random.next() * 0.6);
      } else {
        const endMs = runSession(project, project.nextSessionMs);
        project.nextSessionMs = endMs + drawWaitMs(project.meanGapMs, project.random);
      }
    }
    project.operations.sort((a, b) => a.created_us - b.created_us);
  }

  function runSession(project: LivingProject, atMs: number): number {
    const dice = project.random.next();
    if (dice < 0.4) return runChain(project, [kinds.apply_config], atMs);
    if (dice < 0.45) return runChain(project, [kinds.timeline_archive], atMs);
    if (dice < 0.48) return runChain(project, [kinds.timeline_unarchive], atMs);
    const chain = dice < 0.7 ? [kinds.create_branch, kinds.start_compute] : [kinds.start_compute];
    const startedMs = runChain(project, chain, atMs);
    // Every second compute stays busy: its suspend falls into a later quiet hour that this world does not play.
    if (project.random.next() < 0.5) return startedMs;
    const idleMs = startedMs + drawWaitMs(MEAN_USE_MS, project.random) + SUSPEND_AFTER_MS;
    return runChain(project, [kinds.suspend_compute], idleMs);
  }

  /** All operations of a chain are created at once; each runs when the one before has ended. */
  function runChain(project: LivingProject, chain: readonly OperationKind[], atMs: number): number {
    let createdUs = Math.floor(atMs * 1_000);
    let runsFromMs = atMs;
    chain.forEach((operation, place) => {
      const op = createOperation(project, operation, { createdUs, runsFromMs, isFirst: place === 0 });
      project.operations.push(op);
      runsFromMs = settledMs(op);
      const isTied = project.random.next() < (options.tieChance ?? 0);
      createdUs += isTied ? 0 : 1 + Math.floor(project.random.next() * 5_000);
    });
    return runsFromMs + drawMs({ medianSeconds: 1, sigma: 0.5 }, project.random);
  }

  function createOperation(
    project: LivingProject,
    operation: OperationKind,
    { createdUs, runsFromMs, isFirst }: { createdUs: number; runsFromMs: number; isFirst: boolean },
  ): WorldOperation {
    const { random } = project;
    const startsRunning = isFirst && random.next() < 0.6;
    const createdAtMs = createdUs / 1_000;
    return {
      id: drawUuid(random),
      project_id: project.id,
      branch_id: project.branch_id,
      endpoint_id: operation.hasEndpoint ? project.endpoint_id : undefined,
      action: operation.action,
      created_us: createdUs,
      states: drawLife(operation, { createdAtMs, runsFromMs, startsRunning }, random),
    };
  }
}

/** A chain goes on once its operation ended or failed for the first time: what is retried much later holds nobody up. */
function settledMs({ states }: WorldOperation): number {
  const end = states.find(({ status }) =>
    ['finished', 'failed', 'skipped', 'cancelled', 'error'].includes(status),
  );
  return end?.at_ms ?? states.at(-1)?.at_ms ?? 0;
}

function truthOf(op: WorldOperation, nowMs: number): GroundTruthOperation {
  return {
    project_id: op.project_id,
    operation_id: op.id,
    action: op.action,
    created_at_ms: op.created_us / 1_000,
    states: op.states.filter(({ at_ms }) => at_ms <= nowMs),
  };
}
