/** Holds the policies that production's planner is compared with. Each decides the next request. */

import { REQUEST_BURST } from '../../functions/poller/account/sending/account-budget.ts';
import type { PollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { rateLimitOf } from '../../shared/core/rates/rate-limit.ts';
import { projectIdOf, projectOf } from './virtual-upstream.ts';
import type { Workload } from './world/workload.ts';

type Decision =
  | { readonly kind: 'poll'; readonly project: number }
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface Policy {
  next(nowMs: number): Decision;
  report(project: number, hasOpen: boolean, nowMs: number): void;
}

/** Wraps a policy so that it decides for the whole bridge instead of production's planner. */
export function plannerOf(policy: Policy): PollPlanner {
  return {
    next(nowMs) {
      const decision = policy.next(nowMs);
      return decision.kind === 'poll' ? { kind: 'poll', projectId: projectIdOf(decision.project) } : decision;
    },
    report: (projectId, { activity }, nowMs) =>
      policy.report(projectOf(projectId), activity?.openSinceMs !== undefined, nowMs),
    need: () => ({ hasReadAll: false, hasWork: false, expectedTransitionsPerMs: 0 }),
    setProjects: () => {},
    addProjects: () => {},
    removeProjects: () => {},
    reportPage: () => {},
    markHot: () => {},
    wish: () => {},
    waitingCount: () => 0,
    historyOf: () => undefined,
    hintEvidence: () => [],
    restoreHints: () => {},
  };
}

/**
 * Reads every project once. Then it knows every instant at which something will happen and reads the project at that
 * instant, so only the budget delays it.
 */
export function clairvoyant({ transitions, projectCount }: Workload): Policy {
  const moments = transitions
    .flatMap((own, project) => own.map(({ atS }) => ({ atMs: Math.ceil(atS * 1_000), project })))
    .toSorted((a, b) => a.atMs - b.atMs);
  const readAtMs = new Map<number, number>();
  let place = 0;
  let readCount = 0;
  return {
    next(nowMs) {
      if (readCount < projectCount) return { kind: 'poll', project: readCount++ };
      let moment = moments[place];
      while (moment !== undefined && (readAtMs.get(moment.project) ?? -1) >= moment.atMs)
        moment = moments[++place];
      if (moment === undefined) return { kind: 'wait', untilMs: Number.POSITIVE_INFINITY };
      if (moment.atMs > nowMs) return { kind: 'wait', untilMs: moment.atMs };
      readAtMs.set(moment.project, nowMs);
      return { kind: 'poll', project: moment.project };
    },
    report: () => {},
  };
}

/** Reads the projects one after the other, as fast as the limit allows, but a round takes at least `roundMs`. */
export function roundRobin(projectCount: number, roundMs: number): Policy {
  return dueFirst(() => roundMs, projectCount);
}

/**
 * Spaces polls evenly, with rates by the square root of the true session rates. It does not react to anything that
 * happens.
 */
export function oracleRoot(rates: readonly number[], requestsPerMinute: number): Policy {
  const total = rates.reduce((sum, rate) => sum + Math.sqrt(rate), 0);
  const perMs = rateLimitOf(requestsPerMinute, REQUEST_BURST).intervalMs;
  return dueFirst((project) => (perMs * total) / Math.sqrt(rates[project] ?? 1), rates.length);
}

/** Reads projects with an open operation every five seconds, before all others. It reads the other ones in turn. */
export function strictlyHot(projectCount: number): Policy {
  const hotAtMs = new Map<number, number>();
  let last = -1;
  return {
    next(nowMs) {
      for (const [project, dueAtMs] of hotAtMs) {
        if (dueAtMs > nowMs) break;
        hotAtMs.delete(project);
        return { kind: 'poll', project };
      }
      do last = (last + 1) % projectCount;
      while (hotAtMs.has(last) && hotAtMs.size < projectCount);
      return { kind: 'poll', project: last };
    },
    report(project, hasOpen, nowMs) {
      hotAtMs.delete(project);
      if (hasOpen) hotAtMs.set(project, nowMs + 5_000);
    },
  };
}

/**
 * Picks the project that has been due for the longest time. The next turn is one interval after the last one was due,
 * which keeps the spacing even.
 */
function dueFirst(intervalMsOf: (project: number) => number, projectCount: number): Policy {
  const queue = Array.from({ length: projectCount }, (_, project) => {
    const intervalMs = intervalMsOf(project);
    return { project, intervalMs, dueAtMs: ((project * 0.618_034) % 1) * intervalMs };
  });
  const heap = queue.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  let originMs: number | undefined;
  return {
    next(nowMs) {
      originMs ??= nowMs;
      const first = heap[0];
      if (first === undefined) return { kind: 'wait', untilMs: Number.POSITIVE_INFINITY };
      const untilMs = Math.ceil(originMs + first.dueAtMs);
      if (untilMs > nowMs) return { kind: 'wait', untilMs };
      first.dueAtMs += first.intervalMs;
      sinkFirst(heap);
      return { kind: 'poll', project: first.project };
    },
    report: () => {},
  };
}

function sinkFirst(heap: { dueAtMs: number }[]): void {
  for (let place = 0; ; ) {
    const left = 2 * place + 1;
    const right = left + 1;
    const dueOf = (index: number) => heap[index]?.dueAtMs ?? Number.POSITIVE_INFINITY;
    const child = dueOf(right) < dueOf(left) ? right : left;
    const [above, below] = [heap[place], heap[child]];
    if (above === undefined || below === undefined || above.dueAtMs <= below.dueAtMs) return;
    heap[place] = below;
    heap[child] = above;
    place = child;
  }
}
