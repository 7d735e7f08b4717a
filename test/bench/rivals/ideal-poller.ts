/**
 * Polls as a policy says, with the limiter of production but without its engine: the answer of a poll shows every
 * transition, whatever the page holds, and recording and publishing take the same time as in the bridge. So a rival is
 * never slower here than it would be within the bridge, and its row costs a hundredth.
 */

import { burstOf } from '../../../functions/poller/account/account-budget.ts';
import { pollOptionsFor, pollsAtOnceFor } from '../../../functions/poller/create-account.ts';
import type { ActivityRow } from '../../../functions/poller/planner/project-activity.ts';
import { type RateLimit, rateLimitOf } from '../../../shared/rates/account-rate.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import type { Detections } from '../bridge/detections.ts';
import { upstreamDurations } from '../bridge/timed-ports.ts';
import { operationIdOf, timeOf } from '../bridge/virtual-upstream.ts';
import { runningComputesAt } from '../world/computes.ts';
import { createdS, type Transition, type Workload, type WorkOperation } from '../world/workload.ts';
import type { Decision, Policy, SeenPage } from './policies.ts';

/** One page of the project list shows this many projects (public contract: at most 400). */
export const LIST_ROWS = 400;

/** The first page of a walk shows this many operations, as in production. */
const { firstPageRows: PAGE_ROWS } = pollOptionsFor('open', {}).walkLimits;

export interface IdealRun {
  readonly policy: Policy<SeenPage>;
  readonly requestsPerMinute: number;
  readonly seed: number;
  /** This share of the transitions changes a field of the project list. */
  readonly recall: number;
  /** Requests are counted from this time on, in milliseconds since the epoch. */
  readonly countFromMs: number;
}

/** Runs the policy from the beginning of the workload to its end. */
export function runIdealPoller(
  workload: Workload,
  detections: Detections,
  { policy, requestsPerMinute, seed, recall, countFromMs }: IdealRun,
): { readonly requestCount: number } {
  const account = createIdealAccount(workload, detections, { seed, recall });
  const commands = createCommands(workload, detections);
  const permits = createPermits(rateLimitOf(requestsPerMinute, burstOf(requestsPerMinute)));
  const durationMs = upstreamDurations(workload.world.delays, seededRandom(seed + 4_000));
  const answers: Answer[] = [];
  const placesMax = pollsAtOnceFor(requestsPerMinute);
  const endMs = workload.endS * 1_000;
  let requestCount = 0;
  for (let nowMs = workload.startS * 1_000; nowMs < endMs; ) {
    for (const project of commands.takeUntil(nowMs)) {
      permits.spend(nowMs);
      policy.takeCommand?.(project);
    }
    while (answers[0] !== undefined && answers[0].atMs <= nowMs)
      account.take(policy, answers.shift() as Answer);
    const wakeMs = Math.min(answers[0]?.atMs ?? endMs, commands.nextMs());
    const permitAtMs = answers.length < placesMax ? permits.nextMs() : Number.POSITIVE_INFINITY;
    if (permitAtMs > nowMs) {
      nowMs = Math.min(permitAtMs, wakeMs);
      continue;
    }
    const decision = policy.next(nowMs);
    if (decision.kind === 'wait') {
      nowMs = Math.max(nowMs + 1, Math.min(decision.untilMs, wakeMs));
      continue;
    }
    permits.spend(nowMs);
    if (nowMs >= countFromMs) requestCount += 1;
    const takesMs = durationMs();
    insertByTime(answers, { decision, lookAtS: (nowMs + takesMs / 2) / 1_000, atMs: nowMs + takesMs });
  }
  detections.close();
  return { requestCount };
}

interface Answer {
  readonly decision: Exclude<Decision, { kind: 'wait' }>;
  /** The upstream looked at its state at this time. */
  readonly lookAtS: number;
  readonly atMs: number;
}

function insertByTime(answers: Answer[], answer: Answer): void {
  const after = answers.findIndex(({ atMs }) => atMs > answer.atMs);
  answers.splice(after === -1 ? answers.length : after, 0, answer);
}

function createPermits({ intervalMs, toleranceMs }: RateLimit) {
  let nextAtMs = 0;
  return {
    nextMs: () => nextAtMs - toleranceMs,
    spend(nowMs: number): void {
      nextAtMs = Math.max(nextAtMs, nowMs) + intervalMs;
    },
  };
}

/** Holds what the policy has seen of each project. */
function createIdealAccount(
  workload: Workload,
  detections: Detections,
  { seed, recall }: Pick<IdealRun, 'seed' | 'recall'>,
) {
  const { transitions, world } = workload;
  const random = seededRandom(seed + 2_000);
  const moves = transitions.map((own) => own.filter(() => random.next() < recall));
  const seenPlaces = new Int32Array(workload.projectCount);
  const movePlaces = new Int32Array(workload.projectCount);
  const openPlaces = transitions.map(() => new Set<number>());
  const pages = createPages(workload);
  let processorFreeAtMs = 0;

  return {
    take(policy: Policy<SeenPage>, { decision, lookAtS, atMs }: Answer): void {
      processorFreeAtMs = Math.max(processorFreeAtMs, atMs) + world.delays.processorMs;
      const publishedAtS = (processorFreeAtMs + world.delays.tableMs + world.delays.busMs) / 1_000;
      if (decision.kind === 'list') {
        policy.reportPage?.(decision.page, movedOn(decision.page, lookAtS), atMs);
        return;
      }
      const { project } = decision;
      if (decision.kind === 'computes') {
        policy.reportComputes?.(project, runningComputesAt(workload, project, lookAtS), atMs);
        return;
      }
      const hasNew = see(project, lookAtS, publishedAtS);
      const hasOpen = (openPlaces[project]?.size ?? 0) > 0;
      const { page, isWhole } = pages.at(project, lookAtS, hasNew);
      policy.report(project, { hasOpen, hasNew, page, isWhole }, atMs);
    },
  };

  function see(project: number, lookAtS: number, publishedAtS: number): boolean {
    const fresh = advance(seenPlaces, transitions, project, lookAtS);
    if (fresh.length === 0) return false;
    const latest = new Map(fresh.map(({ place, status }) => [place, status]));
    for (const [place, status] of latest) {
      detections.note(operationIdOf(project, place), status, publishedAtS);
      if (status === 'finished') openPlaces[project]?.delete(place);
      else openPlaces[project]?.add(place);
    }
    return true;
  }

  function movedOn(page: number, lookAtS: number): readonly number[] {
    const first = page * LIST_ROWS;
    const count = Math.min(LIST_ROWS, workload.projectCount - first);
    const projects = Array.from({ length: count }, (_, place) => first + place);
    return projects.filter((project) => advance(movePlaces, moves, project, lookAtS).length > 0);
  }
}

/** Shows the newest operations of a project. A page is made when it is asked for, and again after something happened. */
function createPages({ operations }: Workload) {
  const places = new Int32Array(operations.length);
  const pages = new Map<number, readonly ActivityRow[]>();
  return {
    at(project: number, lookAtS: number, hasNew: boolean) {
      const own = operations[project] ?? [];
      let count = places[project] ?? 0;
      while (count < own.length && createdS(own[count] as WorkOperation) <= lookAtS) count += 1;
      places[project] = count;
      if (hasNew) pages.delete(project);
      const page = (): readonly ActivityRow[] => {
        const known = pages.get(project);
        if (known !== undefined) return known;
        const newest = own.slice(Math.max(0, count - PAGE_ROWS), count).toReversed();
        const rows = newest.map((operation) => rowAt(operation, lookAtS));
        pages.set(project, rows);
        return rows;
      };
      return { page, isWhole: count <= PAGE_ROWS };
    },
  };
}

function rowAt(operation: WorkOperation, lookAtS: number): ActivityRow {
  const state = operation.states.findLast(({ atS }) => atS <= lookAtS);
  return {
    action: operation.action,
    status: state?.status ?? 'scheduling',
    branch_id: `br-bench-${operation.session}`,
    endpoint_id: `ep-bench-${operation.session}`,
    created_at: timeOf(createdS(operation)),
    updated_at: timeOf(state?.atS ?? lookAtS),
  };
}

/** Returns the transitions up to this time that an earlier call has not returned. */
function advance(
  places: Int32Array,
  all: readonly (readonly Transition[])[],
  project: number,
  untilS: number,
): readonly Transition[] {
  const own = all[project] ?? [];
  const from = places[project] ?? 0;
  let to = from;
  while ((own[to]?.atS ?? Number.POSITIVE_INFINITY) <= untilS) to += 1;
  places[project] = to;
  return from === to ? NOTHING : own.slice(from, to);
}

const NOTHING: readonly Transition[] = [];

/** The API publishes what commands have started, for every policy. */
function createCommands({ operations, startS, endS, world }: Workload, detections: Detections) {
  const { upstreamMsMedian, tableMs, busMs } = world.delays;
  const recordedAfterS = (upstreamMsMedian / 2 + 2 * tableMs + busMs) / 1_000;
  const commands = operations
    .flatMap((own, project) =>
      own.flatMap((operation, place) =>
        operation.isCommand ? [{ atS: createdS(operation), project, place }] : [],
      ),
    )
    .filter(({ atS }) => atS >= startS && atS < endS)
    .toSorted((a, b) => a.atS - b.atS);
  let next = 0;
  return {
    nextMs: () => (commands[next]?.atS ?? Number.POSITIVE_INFINITY) * 1_000,
    /** Publishes the commands up to this time and returns their projects. */
    takeUntil(nowMs: number): readonly number[] {
      const from = next;
      while ((commands[next]?.atS ?? Number.POSITIVE_INFINITY) * 1_000 <= nowMs) next += 1;
      const due = commands.slice(from, next);
      for (const { atS, project, place } of due)
        detections.note(operationIdOf(project, place), 'scheduling', atS + recordedAfterS);
      return due.map(({ project }) => project);
    },
  };
}
