/** Holds the policies that production's planner is compared with. Each decides the next request. */

import { REQUEST_BURST } from '../../../functions/poller/account/account-budget.ts';
import type { ActivityRow } from '../../../functions/poller/planner/project-activity.ts';
import { rateLimitOf } from '../../../shared/rates/account-rate.ts';
import type { RunningCompute } from '../../../shared/records/compute-state.ts';
import type { Workload } from '../world/workload.ts';

export type Decision =
  | { readonly kind: 'poll'; readonly project: number }
  /** Reads the computes of the project. */
  | { readonly kind: 'computes'; readonly project: number }
  /** Reads this page of the project list. */
  | { readonly kind: 'list'; readonly page: number }
  | { readonly kind: 'wait'; readonly untilMs: number };

/** Says what the answer of a poll has shown. */
interface Seen {
  readonly hasOpen: boolean;
}

export interface SeenPage extends Seen {
  /** It is true when a transition was seen for the first time. */
  readonly hasNew: boolean;
  /** Returns the newest operations of the project, the newest first. */
  readonly page: () => readonly ActivityRow[];
  /** It is true when the page shows every operation of the project. */
  readonly isWhole: boolean;
}

export interface Policy<S extends Seen = Seen> {
  next(nowMs: number): Decision;
  report(project: number, seen: S, nowMs: number): void;
  /** Takes the projects of which a page of the list shows that something has happened since the page was read before. */
  reportPage?(page: number, moved: readonly number[], nowMs: number): void;
  /** Takes the running computes of a project, as a list of its computes showed them. */
  reportComputes?(project: number, shown: readonly RunningCompute[], nowMs: number): void;
  /** Takes a project in which a command through the bridge has started something. */
  takeCommand?(project: number): void;
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
    takeCommand: (project) => hotAtMs.set(project, 0),
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
    report(project, { hasOpen }, nowMs) {
      hotAtMs.delete(project);
      if (hasOpen) hotAtMs.set(project, nowMs + 5_000);
    },
  };
}

/**
 * Reads the project list and then whatever it shows to have moved. A pass over the pages of the list begins at most
 * once in `passMs`, and the other requests follow `rest`.
 */
export function listThenMoved(projectCount: number, pageRows: number, passMs: number, rest: Policy): Policy {
  const pageCount = Math.ceil(projectCount / pageRows);
  const moved = new Set<number>();
  let page = pageCount;
  let passAtMs = Number.NEGATIVE_INFINITY;
  return {
    next(nowMs) {
      for (const project of moved) {
        moved.delete(project);
        return { kind: 'poll', project };
      }
      if (page >= pageCount && nowMs >= passAtMs + passMs) [page, passAtMs] = [0, nowMs];
      if (page < pageCount) return { kind: 'list', page: page++ };
      const decision = rest.next(nowMs);
      return decision.kind === 'wait'
        ? { ...decision, untilMs: Math.min(decision.untilMs, passAtMs + passMs) }
        : decision;
    },
    report: (project, seen, nowMs) => rest.report(project, seen, nowMs),
    reportPage(_page, projects) {
      for (const project of projects) moved.add(project);
    },
    takeCommand: (project) => moved.add(project),
  };
}

/** Sends nothing by itself. */
export const IDLE: Policy = {
  next: () => ({ kind: 'wait', untilMs: Number.POSITIVE_INFINITY }),
  report: () => {},
};

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
