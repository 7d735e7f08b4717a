/**
 * Runs the planner on virtual time, one permit after the other at the pace of the rate limit, and notes how long each
 * project waited.
 */

import type { ShownPage } from '../../../functions/poller/planner/list-hints.ts';
import type { PlannerLimits } from '../../../functions/poller/planner/pace.ts';
import {
  createPollPlanner,
  type PollDecision,
  type PollPlanner,
  type PollResult,
} from '../../../functions/poller/planner/poll-planner.ts';
import type { ArrivalHistory, ProjectActivity } from '../../../functions/poller/planner/project-activity.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { NOON_MS } from '../../builders.ts';

export const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export const quiet: ProjectActivity = {
  openSinceMs: undefined,
  uses: [],
  arrivalCount: 8,
  observedMs: DAY_MS,
};

/** An operation of this project has always begun just now. */
export const busy = (nowMs: number): ProjectActivity => ({ ...quiet, openSinceMs: nowMs });

const readWell: PollResult = {
  hasFailed: false,
  foundTransition: false,
  hasLeftovers: false,
  activity: undefined,
};

export interface LoadSettings extends Partial<PlannerLimits> {
  readonly projectIds: readonly string[];
  readonly histories?: ReadonlyMap<string, ArrivalHistory>;
  readonly requestsPerMinute: number;
  /** This share of the permits really comes. Others have spent the rest. */
  readonly permitShare?: number;
  readonly seed: number;
}

export interface Load {
  readonly activityOf?: (projectId: string, nowMs: number) => ProjectActivity;
  readonly resultOf?: (projectId: string, nowMs: number) => Partial<PollResult>;
  /** Returns the page of the project list that is read now. A reading of the list never ends when this is missing. */
  readonly pageAt?: (nowMs: number) => ShownPage;
  /** It is called every `everyMs`. */
  readonly happens?: (plan: PollPlanner, nowMs: number) => void;
  readonly everyMs?: number;
}

export function runPlanner(settings: LoadSettings) {
  const { projectIds, histories, seed, permitShare = 1, ...limits } = settings;
  const random = seededRandom(seed);
  const plan = createPollPlanner({
    pollIntervalMsMin: 5_000,
    failureBackoffMsMax: MINUTE_MS,
    listing: undefined,
    ...limits,
  });
  const permitMs = MINUTE_MS / limits.requestsPerMinute / permitShare;
  const roundMs = (projectIds.length * MINUTE_MS) / limits.requestsPerMinute;
  const readAtMs = new Map<string, number>();
  const readCounts = new Map<string, number>();
  let nowMs = NOON_MS + random.next() * 1_000;
  const startedAtMs = nowMs;
  /** The clock of the machine shows a time that is earlier by this. */
  let behindMs = 0;
  let longestWaitMs = 0;
  plan.addProjects(projectIds, histories);

  return {
    plan,
    nowMs: () => nowMs,
    readCount: (id: string) => readCounts.get(id) ?? 0,
    waitedMs: (id: string) => nowMs - (readAtMs.get(id) ?? startedAtMs),
    unreadCount: () => projectIds.filter((id) => !readCounts.has(id)).length,
    /** Projects that wait now are included. */
    longestWaitRounds: () => {
      const waiting = projectIds.map((id) => nowMs - (readAtMs.get(id) ?? startedAtMs));
      return Math.max(longestWaitMs, ...waiting) / Math.max(roundMs, MINUTE_MS / 4);
    },
    setClockBack(byMs: number): void {
      behindMs += byMs;
    },
    pass(durationMs: number, load: Load = {}): void {
      const endMs = nowMs + durationMs;
      let happensAtMs = nowMs;
      for (; nowMs < endMs; nowMs += permitMs) {
        for (; happensAtMs <= nowMs; happensAtMs += load.everyMs ?? durationMs)
          load.happens?.(plan, happensAtMs - behindMs);
        serve(plan.next(nowMs - behindMs), load);
      }
    },
  };

  /** A reading takes no time here, because these tests do not ask about readings under way. */
  function serve(decision: PollDecision, load: Load): void {
    const clockMs = nowMs - behindMs;
    if (decision.kind === 'list' && load.pageAt)
      plan.reportPage(decision.page, load.pageAt(clockMs), clockMs);
    if (decision.kind !== 'poll') return;
    const { projectId } = decision;
    longestWaitMs = Math.max(longestWaitMs, nowMs - (readAtMs.get(projectId) ?? startedAtMs));
    readAtMs.set(projectId, nowMs);
    readCounts.set(projectId, (readCounts.get(projectId) ?? 0) + 1);
    const activity = load.activityOf?.(projectId, clockMs) ?? quiet;
    plan.report(projectId, { ...readWell, activity, ...load.resultOf?.(projectId, clockMs) }, clockMs);
  }
}
