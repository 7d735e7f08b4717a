/** The production planner, and what it is compared with: each decides the next request of one virtual account. */

import { REQUEST_BURST } from '../../functions/poller/limits.ts';
import { createPollPlanner, type PollPlanner } from '../../shared/core/poll-planner.ts';
import type { ProjectActivity } from '../../shared/core/project-activity.ts';
import { rateLimitOf } from '../../shared/core/rate-limit.ts';
import { projectIdOf, projectOf } from './virtual-upstream.ts';
import type { Workload } from './workload.ts';

export type Decision =
  | { readonly kind: 'poll'; readonly project: number }
  | { readonly kind: 'list' }
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface PollOutcome {
  readonly foundTransition: boolean;
  readonly hasOpen: boolean;
  /** Only the planner asks for it: it is read from the rows, as in production. */
  readonly activity: () => ProjectActivity;
}

export interface Policy {
  next(nowMs: number): Decision;
  report(project: number, outcome: PollOutcome, nowMs: number): void;
  reportListing(revisions: readonly number[], requestCount: number, nowMs: number): void;
}

export function productionPolicy(options: {
  readonly projectCount: number;
  readonly requestsPerMinute: number;
  readonly pollIntervalMs: number;
  readonly hasHints: boolean;
}): Policy {
  const ids = Array.from({ length: options.projectCount }, (_, project) => `p${project}`);
  const planner = createPollPlanner({
    pollIntervalMsMin: options.pollIntervalMs,
    requestsPerMinute: options.requestsPerMinute,
    failureBackoffMsMax: 300_000,
    listIntervalMsMin: options.hasHints ? HINT_INTERVAL_MS : undefined,
  });
  planner.setProjects(ids);
  return {
    next(nowMs) {
      const decision = planner.next(nowMs);
      return decision.kind === 'poll'
        ? { kind: 'poll', project: Number(decision.projectId.slice(1)) }
        : decision;
    },
    report(project, { foundTransition, activity }, nowMs) {
      const result = { hasFailed: false, foundTransition, hasLeftovers: false };
      planner.report(ids[project] ?? '', { ...result, activity: activity() }, nowMs);
    },
    reportListing(revisions, requestCount, nowMs) {
      const rows = revisions.map((revision, project) => ({ id: ids[project] ?? '', updated_at: revision }));
      planner.reportListing(rows, requestCount, nowMs);
    },
  };
}

/** Another way to decide, in the place of production's planner in the whole bridge. */
export function plannerOf(policy: Policy): PollPlanner {
  const nothingKnown: ProjectActivity = {
    openSinceMs: undefined,
    activeSinceMs: [],
    arrivalCount: 0,
    observedMs: 1,
  };
  return {
    next(nowMs) {
      const decision = policy.next(nowMs);
      return decision.kind === 'poll' ? { kind: 'poll', projectId: projectIdOf(decision.project) } : decision;
    },
    report(projectId, { foundTransition, activity = nothingKnown }, nowMs) {
      const hasOpen = activity.openSinceMs !== undefined;
      policy.report(projectOf(projectId), { foundTransition, hasOpen, activity: () => activity }, nowMs);
    },
    need: () => ({ hasReadAll: false, hasWork: false, expectedTransitionsPerMs: 0 }),
    setProjects: () => {},
    reportListing: () => {},
    markHot: () => {},
    historyOf: () => undefined,
    hintEvidence: () => [],
    restoreHints: () => {},
  };
}

/** Knows every instant at which something will happen, and reads the project then: only the budget holds it up. */
export function clairvoyant({ transitions }: Workload): Policy {
  const moments = transitions
    .flatMap((own, project) => own.map(({ atS }) => ({ atMs: Math.ceil(atS * 1_000), project })))
    .toSorted((a, b) => a.atMs - b.atMs);
  const readAtMs = new Map<number, number>();
  let place = 0;
  return {
    next(nowMs) {
      let moment = moments[place];
      while (moment !== undefined && (readAtMs.get(moment.project) ?? -1) >= moment.atMs)
        moment = moments[++place];
      if (moment === undefined) return { kind: 'wait', untilMs: Number.POSITIVE_INFINITY };
      if (moment.atMs > nowMs) return { kind: 'wait', untilMs: moment.atMs };
      readAtMs.set(moment.project, nowMs);
      return { kind: 'poll', project: moment.project };
    },
    report: () => {},
    reportListing: () => {},
  };
}

/** The least that an account can be configured with: a quarter of the shortest poll interval. */
const HINT_INTERVAL_MS = 250;

/** One after the other, as fast as the limit allows but no faster than `roundMs` for all. */
export function roundRobin(projectCount: number, roundMs: number): Policy {
  return dueFirst(() => roundMs, projectCount);
}

/** Evenly spaced, with rates by the square root of the true session rates, blind to everything that happens. */
export function oracleRoot(rates: readonly number[], requestsPerMinute: number): Policy {
  const total = rates.reduce((sum, rate) => sum + Math.sqrt(rate), 0);
  const perMs = rateLimitOf(requestsPerMinute, REQUEST_BURST).intervalMs;
  return dueFirst((project) => (perMs * total) / Math.sqrt(rates[project] ?? 1), rates.length);
}

/** Projects with an open operation every five seconds, before all others; the rest in turn. */
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
    report(project, { hasOpen }, nowMs) {
      hotAtMs.delete(project);
      if (hasOpen) hotAtMs.set(project, nowMs + 5_000);
    },
    reportListing: () => {},
  };
}

/** Whoever is due for longest; the next turn comes one interval after the last one was due, so spacing is even. */
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
    reportListing: () => {},
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
