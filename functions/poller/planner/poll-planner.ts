/**
 * Decides which request is sent next. Each permit goes to the first of these that has something to read (ADR 6):
 * 1. a project that would otherwise wait for more than four rounds of all projects, with every second permit at most;
 * 2. a project that a command or a wish asks for, as long as these do not use more than their share;
 * 3. the project, the page of the project list, or the list of computes that is worth most (`next-reading.ts` has the rule).
 */

import type { FieldEvidence } from '../../../shared/records/account-status.ts';
import type { RunningCompute } from '../../../shared/records/compute-state.ts';
import { createExpectations, type Expectations, TRANSITIONS_PER_SUSPEND } from './expected-transitions.ts';
import {
  bestPageOf,
  createProjectList,
  type Listing,
  type ProjectList,
  type ShownPage,
} from './list-hints.ts';
import {
  createComputeLists,
  lookAt,
  type Project,
  RECALL_WORTH_A_PERMIT,
  RECALL_WORTH_A_READING,
} from './next-reading.ts';
import { backoffMsOf, createPermitBucket, type Pace, type PlannerLimits, paceOf } from './pace.ts';
import { createAskedReadings, createPlannedProjects } from './planned-projects.ts';
import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';

export interface PollPlanner {
  /**
   * Adds projects to those that are polled, and forgets none. `histories` says, by id of the project, how often something
   * happened in those that an earlier process has read.
   */
  addProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Stops polling these projects, and forgets what is known of them. */
  removeProjects(projectIds: readonly string[]): void;
  /**
   * Returns what to send with a request that may leave now. The project or page counts as under way until it is
   * reported.
   */
  next(nowMs: number): PollDecision;
  report(projectId: string, result: PollResult, nowMs: number): void;
  /**
   * Takes what a page of the project list showed, however partial. `shown` is undefined when the page could not be
   * read. Returns the listing that has come to its end with this page.
   */
  reportPage(page: number, shown: ShownPage | undefined, nowMs: number): Listing | undefined;
  /** Asks for a listing soon. The first one that is asked for begins at once. */
  askForListing(): void;
  /** Takes what a reading of the project's computes came to. */
  reportComputes(projectId: string, reading: ComputesReading, nowMs: number): void;
  /**
   * Asks for a reading at once, because something is known to happen there. A project that is not known yet is read at
   * once when it becomes known.
   */
  askAtOnce(projectId: string): void;
  /** Asks for a fresh reading that a caller wishes for. It comes at once, but at most once in a poll interval. */
  wish(projectId: string): void;
  /** Returns how many projects wait because news or a wish asks for a reading of them. */
  waitingCount(): number;
  /** Says whether there is a reason to go on polling. `sinceMs` is the beginning of this invocation. */
  need(sinceMs: number, nowMs: number): PollingNeed;
  /** Returns how often something happens there, or undefined when that is not known. */
  historyOf(projectId: string): ArrivalHistory | undefined;
  /** Returns what was learned of the list's field, for the status that is kept across restarts. */
  hintEvidence(): readonly FieldEvidence[];
  restoreHints(evidence: readonly FieldEvidence[]): void;
}

/**
 * The running computes that a list of the project's computes showed. A list that is `unreadable` is not asked for again soon. A
 * reading that the end of the invocation has cut short says nothing of the list.
 */
export type ComputesReading = readonly RunningCompute[] | 'unreadable' | 'cut_short';

export type PollDecision =
  /** The poller reads the list of the project's computes, which says when they can be suspended. */
  | { readonly kind: 'computes'; readonly projectId: string }
  | { readonly kind: 'poll'; readonly projectId: string }
  /** The poller reads this page of the project list, from this cursor on. */
  | { readonly kind: 'list'; readonly page: number; readonly cursor: string | undefined }
  /** The poller sends nothing before `untilMs`, which is infinite when every project is under way or there is none. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface PollResult {
  readonly hasFailed: boolean;
  readonly foundTransition: boolean;
  /** The poll left events that did not reach the bus, so the project is polled again as soon as it may be. */
  readonly hasLeftovers: boolean;
  /** It is undefined when the poll read no page; what was known of the project stays then. */
  readonly activity: ProjectActivity | undefined;
  /** It is true when the end of the invocation came before the end of the walk. Then the project goes first. */
  readonly wasCutShort?: boolean | undefined;
  /** After a failure the project rests for at least this long. When it is undefined, only the usual back-off counts. */
  readonly restMs?: number | undefined;
}

export interface PollingNeed {
  /** It is true when this invocation has read every project, or has read a list that has shown almost every transition so far. */
  readonly hasReadAll: boolean;
  /** It is true when a project waits to be polled at once, events wait to be published, or the list is being read. */
  readonly hasWork: boolean;
  /**
   * It counts the transitions expected of open operations and of computes that may be suspended now. Operations that
   * have not begun are left out.
   */
  readonly expectedTransitionsPerMs: number;
}

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const { listing } = limits;
  const expected = createExpectations();
  const projects = createPlannedProjects(expected);
  const { byId } = projects;
  const bucket = createPermitBucket(limits.requestsPerMinute);
  const asked = createAskedReadings();
  const pace = (): Pace => paceOf(limits, byId.size, list.pages.length);
  const backoffMs = (failureCount: number) => backoffMsOf(limits, failureCount, pace().intervalMs);
  const list = createProjectList({ ...listLimitsOf(limits), backoffMs }, (id) => byId.get(id));
  const computes = createComputeLists(expected);
  let wasDue = false;
  let latestMs = Number.NEGATIVE_INFINITY;

  return {
    addProjects: add,
    removeProjects: remove,
    next,
    report,
    reportPage(page, shown, nowMs) {
      const listed = list.take(page, shown, nowMs);
      for (const project of (shown?.rows ?? []).flatMap(({ id }) => byId.get(id) ?? []))
        projects.follow(project);
      return listed;
    },
    askForListing() {
      if (listing !== undefined) list.ask();
    },
    reportComputes(projectId, reading, nowMs) {
      const project = byId.get(projectId);
      if (project === undefined) return;
      project.computesRestMs = reading === 'unreadable' ? nowMs + limits.failureBackoffMsMax : 0;
      if (reading !== 'cut_short') computes.noteReading(reading !== 'unreadable', nowMs);
      if (typeof reading === 'string') return;
      noteComputes(project, reading, expected, nowMs);
      projects.follow(project);
    },
    askAtOnce: (projectId) => asked.ask(projectId, byId.get(projectId), 'news'),
    wish: (projectId) => asked.ask(projectId, byId.get(projectId), 'wish'),
    waitingCount: asked.waitingCount,
    need(sinceMs, nowMs) {
      const parts = { projects, list, expected, waitMsMax: pace().waitMsMax };
      return needOf(parts, sinceMs, nowMs, asked.isAwaited());
    },
    historyOf: (projectId) => byId.get(projectId)?.history,
    hintEvidence: () => list.evidence(),
    restoreHints: (evidence) => list.restore(evidence),
  };

  /** When the clock is set back, so are the times of polls, pages and permits. Otherwise nothing would be read until the clock has come that far again. */
  function followClock(nowMs: number): void {
    if (nowMs < latestMs) for (const each of [projects, list, bucket]) each.setBack(latestMs - nowMs);
    latestMs = nowMs;
  }

  function next(nowMs: number): PollDecision {
    followClock(nowMs);
    const now = pace();
    const { intervalMs, listIntervalMs } = now;
    const look = lookAt(projects.lookedAt(nowMs), list, expected, now, nowMs);
    const isAfterDue = wasDue;
    wasDue = !wasDue && look.due !== undefined;
    if (wasDue && look.due !== undefined) return poll(look.due, nowMs);
    const wanted = asked.take(intervalMs, nowMs);
    if (wanted !== undefined) return poll(wanted, nowMs);
    const page = bestPageOf(list, listing === undefined ? undefined : listIntervalMs, nowMs);
    // What is kept now would go to the next project that is due, and then no page would be read.
    if (!look.isShown && !isAfterDue && list.recall() >= RECALL_WORTH_A_PERMIT) {
      // One permit is kept for what the list shows next.
      const savedMs = bucket.savedMs();
      if (nowMs < savedMs) return { kind: 'wait', untilMs: savedMs };
    }
    if (page.index > Math.max(0, look.bestIndex)) {
      bucket.spend(nowMs);
      return { kind: 'list', page: page.place, cursor: list.begin(page.place, nowMs) };
    }
    if (look.best !== undefined) computes.notePrice(look.bestIndex);
    const unlisted = computes.choose(look.unlisted, intervalMs, list.recall(), nowMs);
    if (unlisted !== undefined) {
      bucket.spend(nowMs);
      return { kind: 'computes', projectId: unlisted.id };
    }
    const chosen = look.best ?? asked.first(intervalMs, nowMs);
    if (chosen !== undefined) return poll(chosen, nowMs);
    return { kind: 'wait', untilMs: Math.min(look.untilMs, page.untilMs) };
  }

  function poll(project: Project, nowMs: number): PollDecision {
    bucket.spend(nowMs);
    project.isBusy = true;
    asked.begin(project);
    return { kind: 'poll', projectId: project.id };
  }

  function report(projectId: string, result: PollResult, nowMs: number): void {
    followClock(nowMs);
    const project = byId.get(projectId);
    if (project === undefined) return;
    project.isBusy = false;
    const wasAsked = asked.end(project);
    if (result.wasCutShort) {
      asked.ask(projectId, project, 'news');
      return;
    }
    const { hasFailed, foundTransition, activity, restMs = 0 } = result;
    // What was asked for, or shown by a list, has been found by chance neither more nor less often than usual.
    if (!hasFailed && !wasAsked && project.foretoldCount === 0)
      expected.noteFind(project, nowMs - project.polledMs, foundTransition);
    noteResult(project, result, nowMs);
    if (hasFailed) {
      project.restMs = nowMs + Math.max(restMs, backoffMs(project.failureCount));
    } else list.takePoll(project, foundTransition, nowMs);
    if (activity !== undefined) {
      expected.learn(project, activity, nowMs);
      if (limits.readsComputes === true) project.listWorthMs = expected.listWorthAtMs(project);
    }
    projects.follow(project);
  }

  function add(ids: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void {
    for (const project of projects.add(ids, histories)) asked.meet(project);
  }

  function remove(ids: readonly string[]): void {
    for (const project of projects.remove(ids)) asked.forget(project);
  }
}

function listLimitsOf({ listing, requestsPerMinute }: PlannerLimits) {
  const usualIntervalMs = listing?.usualIntervalMs ?? Number.POSITIVE_INFINITY;
  return { usualIntervalMs, hasHints: listing?.hintIntervalMsMin !== undefined, requestsPerMinute };
}

function noteComputes(
  project: Project,
  rows: readonly RunningCompute[],
  expected: Expectations,
  nowMs: number,
): void {
  if (expected.learnComputes(project, rows, nowMs)) project.foretoldCount = TRANSITIONS_PER_SUSPEND;
  project.listWorthMs = expected.listWorthAtMs(project);
  project.recountMs = nowMs;
}

function noteResult(project: Project, { hasFailed, hasLeftovers }: PollResult, nowMs: number): void {
  project.polledMs = nowMs;
  project.recountMs = nowMs;
  project.hasLeftovers = hasLeftovers;
  project.failureCount = hasFailed ? project.failureCount + 1 : 0;
  if (hasFailed) return;
  project.restMs = 0;
  project.foretoldCount = 0;
}

/** A list that is expected to show this share of the transitions has proved itself: an invocation that has read it has read all projects. */
const RECALL_PROVEN = 0.9;

interface NeedParts {
  readonly projects: ReturnType<typeof createPlannedProjects>;
  readonly list: ProjectList;
  readonly expected: Expectations;
  readonly waitMsMax: number;
}

/** `isAwaited` says that a project waits to be polled because a command, a wish or the list has asked for that. */
function needOf(
  { projects, list, expected, waitMsMax }: NeedParts,
  sinceMs: number,
  nowMs: number,
  isAwaited: boolean,
): PollingNeed {
  const overdueMs = nowMs - waitMsMax;
  const areShown =
    list.recall() >= RECALL_PROVEN && list.pages.every(({ readMs, isBusy }) => readMs >= sinceMs && !isBusy);
  const isTold = list.recall() > RECALL_WORTH_A_READING;
  let hasReadAll = true;
  let hasWork = isAwaited || list.isUnderWay();
  // A project that fails has been tried; it must not keep the others' poller alive.
  for (const { polledMs, failureCount, hasLeftovers, hasMoved } of projects.byId.values()) {
    if (failureCount > 0) continue;
    hasReadAll &&= areShown || polledMs >= sinceMs;
    hasWork ||= hasLeftovers || (hasMoved && isTold) || polledMs <= overdueMs;
  }
  let expectedTransitionsPerMs = 0;
  for (const project of projects.hot) expectedTransitionsPerMs += expected.hotPerMs(project, nowMs);
  return { hasReadAll, hasWork, expectedTransitionsPerMs };
}
