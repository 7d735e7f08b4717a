/** Draws the projects of a run, with what happens to them and in them. */

import { type Random, seededRandom } from '../../../../shared/runtime/random.ts';
import { withForeignRows } from '../foreign.ts';
import { dice, MINUTE_MS, type WidePlan } from '../plan.ts';
import { START_MS, type Timeline } from '../timeline.ts';
import type { WideWorld } from '../world.ts';
import { createOperationSource, type OperationSource } from './draw-operations.ts';
import {
  createTruth,
  newestFirst,
  type Span,
  type Truth,
  type TruthProject,
  type WideOperation,
} from './truth.ts';

const HISTORY_MS = 3 * 3_600_000;
const ALWAYS: Span = { fromMs: 0, toMs: Number.POSITIVE_INFINITY };
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;

interface Scene {
  readonly world: WideWorld;
  readonly timeline: Timeline;
  readonly source: OperationSource;
}

export function drawTruth(world: WideWorld, timeline: Timeline): { truth: Truth; source: OperationSource } {
  const source = createOperationSource(world.plan, world.random);
  const scene = { world, timeline, source };
  const usual = Array.from({ length: world.plan.projectCount }, (_, place) => usualProject(scene, place));
  const projects = [...usual, ...newcomers(scene)];
  return { truth: createTruth(projects, listFailingSpans(scene)), source };
}

/**
 * Draws one project. The first one has everything that can happen to a project, so that the others show what it does
 * to them.
 */
function usualProject(scene: Scene, place: number): TruthProject {
  const { world, timeline, source } = scene;
  const { plan, random } = world;
  const id = projectIdOf(random, place);
  const isOdd = place === 0;
  const visible = isOdd ? visibleSpans(scene) : [ALWAYS];
  const history = source.drawMany(
    plan.historyCount,
    { fromMs: START_MS - HISTORY_MS, toMs: START_MS },
    { projectId: id, endMs: historyEndMs(random), isHistory: true },
  );
  return {
    id,
    createdMs: START_MS - 10 * WEEK_MS,
    visible,
    unavailable: isOdd ? oddSpans(scene, 'project_unavailable') : [],
    malformed: isOdd ? oddSpans(scene, 'project_row_malformed') : [],
    failing: isOdd ? [...oddSpans(scene, 'project_operations_failing'), ...cutShortSpans(scene)] : [],
    notFound: isOdd ? notFoundSpans(scene) : [],
    ...(isOdd && { failingBelowUs: failingBelowUs(plan, history) }),
    operations: [
      ...history,
      ...withForeignRows(plan, place, operationsOf(scene, id, place, timeline)),
    ].toSorted(newestFirst),
  };
}

/** The page behind the second oldest row is never answered. */
function failingBelowUs({ faults }: WidePlan, history: readonly WideOperation[]): number | undefined {
  if (faults.operation_page_failing === 0) return undefined;
  return history.map(({ createdUs }) => createdUs).toSorted((a, b) => a - b)[1];
}

/**
 * Returns when the states of the history end. A quarter of the projects have a history that is still open when the
 * bridge arrives.
 */
function historyEndMs(random: Random): number {
  return random.next() < 0.25 ? START_MS + MINUTE_MS : START_MS - 1;
}

/** A burst comes in this part of a minute in which an invocation runs, so that it is read just before the stop signal. */
const BURST_FROM_MS = 40_000;
const BURST_TO_MS = 52_000;
const EARLY_COUNT_MAX = 20;

function operationsOf(
  scene: Scene,
  projectId: string,
  place: number,
  timeline: Timeline,
): readonly WideOperation[] {
  const { plan } = scene.world;
  const share = place === 0 ? 0.6 : 0.4 / Math.max(1, plan.projectCount - 1);
  const count = Math.max(1, Math.round(plan.operationCount * share));
  const [first, second] = timeline.busy;
  const { source } = scene;
  const endMs = timeline.calm.fromMs + 2 * MINUTE_MS;
  const later = plan.isBurst ? burstIn(timeline) : { ...second, toMs: second.toMs + MINUTE_MS };
  const earlyCount = plan.isBurst ? Math.min(count, EARLY_COUNT_MAX) : count;
  const busy = [
    ...source.drawMany(earlyCount, first, { projectId, endMs, isHistory: false }),
    ...source.drawMany(count, later, { projectId, endMs, isHistory: false }),
  ];
  if (plan.gapMs === 0 || !plan.isAsleep) return busy;
  const gap = { fromMs: first.toMs, toMs: second.fromMs };
  if (gap.fromMs >= gap.toMs) return busy;
  return [...busy, ...source.drawMany(Math.ceil(count / 2), gap, { projectId, endMs, isHistory: false })];
}

/** Without a gap, the invocation of the first busy time goes on into the second one. */
function burstIn({ busy: [first, second] }: Timeline): Span {
  const isGap = second.fromMs > first.toMs;
  const beganMs = isGap ? second.fromMs : first.toMs - ((first.toMs - first.fromMs) % MINUTE_MS);
  const isOver = beganMs + BURST_FROM_MS < second.fromMs;
  const minuteMs = isOver ? second.fromMs : beganMs;
  return { fromMs: minuteMs + BURST_FROM_MS, toMs: minuteMs + BURST_TO_MS };
}

/**
 * Draws when a project is visible. It may be deleted in a busy time, and may come back within two minutes of the
 * calm.
 */
function visibleSpans({ world, timeline }: Scene): readonly Span[] {
  if (!fires(world, 'project_deleted')) return [ALWAYS];
  const [first, second] = timeline.busy;
  const isEarly = world.plan.gapMs === 0 || world.plan.faults.project_list_failing > 0;
  const goneMs = isEarly ? first.fromMs + MINUTE_MS : second.fromMs + 0.3 * MINUTE_MS;
  const before = { fromMs: 0, toMs: goneMs };
  if (!fires(world, 'project_returned')) return [before];
  return [before, { fromMs: timeline.calm.fromMs + world.random.next() * 2 * MINUTE_MS, toMs: ALWAYS.toMs }];
}

/**
 * Draws when something odd holds for a project. Half of the time it lasts for good, otherwise until the calm begins.
 */
function oddSpans(
  { world, timeline }: Scene,
  kind: 'project_unavailable' | 'project_row_malformed' | 'project_operations_failing',
): readonly Span[] {
  if (!fires(world, kind)) return [];
  const isForGood = world.random.next() < 0.5;
  const fromMs = world.random.next() < 0.5 ? 0 : START_MS + world.random.next() * world.plan.busyMs;
  return [{ fromMs, toMs: isForGood ? ALWAYS.toMs : timeline.calm.fromMs }];
}

/** By then the whole list has been read once. */
const LIST_FAILS_AFTER_MS = MINUTE_MS;

/** The list can be read again soon after the schedule is switched on. */
function listFailingSpans({ world, timeline }: Scene): readonly Span[] {
  if (world.plan.faults.project_list_failing === 0) return [];
  const [, second] = timeline.busy;
  return [{ fromMs: START_MS + LIST_FAILS_AFTER_MS, toMs: second.fromMs }];
}

/** The first walk of the project has begun by then, and has not come to the end of its list. */
const CUT_SHORT_AFTER_MS = [10_000, 30_000] as const;

/** Draws from dice of its own, as the plan does for faults that were added later. */
function cutShortSpans({ world, timeline }: Scene): readonly Span[] {
  if (!fires(world, 'project_walk_cut_short')) return [];
  const fromMs = START_MS + dice(seededRandom(world.plan.seed)).whole(...CUT_SHORT_AFTER_MS);
  return [{ fromMs, toMs: timeline.calm.fromMs }];
}

/**
 * The key may lose its permission for a project and get it back. That takes less than the ten minutes after which a
 * 404 alone would prove that the project is gone.
 */
const NOT_FOUND_MS = [3 * MINUTE_MS, 6 * MINUTE_MS] as const;

/** Draws from dice of its own, as the plan does for faults that were added later. */
function notFoundSpans({ world, timeline }: Scene): readonly Span[] {
  if (world.plan.faults.project_not_found_for_a_while === 0) return [];
  const random = seededRandom(world.plan.seed);
  const [, second] = timeline.busy;
  const fromMs = second.fromMs + random.next() * world.plan.busyMs;
  const [shortestMs, longestMs] = NOT_FOUND_MS;
  return [{ fromMs, toMs: fromMs + shortestMs + random.next() * (longestMs - shortestMs) }];
}

/**
 * Draws the projects that become visible while the bridge watches: one is created just then, and one is transferred
 * with weeks of history.
 */
function newcomers(scene: Scene): readonly TruthProject[] {
  const { world, timeline, source } = scene;
  const { random, plan } = world;
  const projects: TruthProject[] = [];
  const [, second] = timeline.busy;
  const add = (createdMs: number, fromMs: number, operations: readonly WideOperation[], id: string) => {
    projects.push({
      id,
      createdMs,
      visible: [{ fromMs, toMs: ALWAYS.toMs }],
      unavailable: [],
      malformed: [],
      failing: [],
      notFound: [],
      operations: operations.toSorted(newestFirst),
    });
  };
  const endMs = timeline.calm.fromMs + 2 * MINUTE_MS;
  if (fires(world, 'project_created')) {
    const id = projectIdOf(random, 500);
    const fromMs = second.fromMs + random.next() * plan.busyMs * 0.8;
    const span = { fromMs, toMs: second.toMs + MINUTE_MS };
    add(fromMs, fromMs, source.drawMany(3, span, { projectId: id, endMs, isHistory: false }), id);
  }
  if (fires(world, 'project_transferred_in')) {
    const id = projectIdOf(random, 600);
    const fromMs = second.fromMs + dice(random).whole(10, 60) * 1_000;
    const weeks = { fromMs: START_MS - 3 * WEEK_MS, toMs: fromMs - 1_000 };
    const recent = { fromMs: Math.max(START_MS, fromMs - 10 * MINUTE_MS), toMs: fromMs - 1_000 };
    const isHistory = true;
    const past = source.drawMany(4, weeks, { projectId: id, endMs: fromMs - 500, isHistory });
    const late = source.drawMany(4, recent, { projectId: id, endMs: fromMs - 500, isHistory });
    const news = source.drawMany(
      3,
      { fromMs, toMs: second.toMs + MINUTE_MS },
      { projectId: id, endMs, isHistory: false },
    );
    add(START_MS - 5 * WEEK_MS, fromMs, [...past, ...late, ...news], id);
  }
  return projects;
}

function fires(world: WideWorld, kind: Parameters<WideWorld['fire']>[0]): boolean {
  if (world.plan.faults[kind] === 0) return false;
  world.fire(kind);
  return true;
}

/** Returns an id. The order of the ids in the list is not the order in which the projects came. */
function projectIdOf(random: Random, place: number): string {
  return `pond-${10 + Math.floor(random.next() * 89)}-${String(place).padStart(4, '0')}`;
}
