/**
 * Decides which request is sent next. Each permit goes to the first of these that has something to read (ADR 6):
 * 1. a project that has waited for four rounds of all projects, with every second permit at most;
 * 2. a project that a command or a wish asks for, as long as these do not use more than their share;
 * 3. the project, the page of the project list, or the list of computes that is worth most (`next-reading.ts` has the rule).
 */

import type { FieldEvidence } from '../../../shared/core/records/account-status.ts';
import type { RunningCompute } from '../../../shared/core/records/running-compute.ts';
import { createAskedReadings } from './asked-readings.ts';
import { createExpectations, TRANSITIONS_PER_SUSPEND } from './expected-transitions.ts';
import {
  createComputeLists,
  lookAt,
  type Project,
  RECALL_WORTH_A_PERMIT,
  RECALL_WORTH_A_READING,
} from './next-reading.ts';
import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';
import { createProjectList, type ListPage, type ShownPage, UNLISTED } from './project-list.ts';

export interface PollPlanner {
  /**
   * Polls exactly these projects from now on, and forgets what is known of all others. `histories` says, by id of the
   * project, how often something happened in those that an earlier process has read.
   */
  setProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Adds projects to those that are polled, and forgets none. */
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
   * read. The first report starts the readings of the list, because a poller reads the list before it knows any project.
   */
  reportPage(page: number, shown: ShownPage | undefined, nowMs: number): void;
  /** Takes what a reading of the project's computes came to. */
  reportComputes(projectId: string, reading: ComputesReading, nowMs: number): void;
  /**
   * Asks for a reading at once, because a command through the bridge has started something there. A project that is not
   * known yet is read at once when it becomes known.
   */
  markHot(projectId: string): void;
  /** Asks for a fresh reading that a caller wishes for. It comes at once, but at most once in a poll interval. */
  wish(projectId: string): void;
  /** Returns how many projects wait because a command or a wish asks for a reading of them. */
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
  /**
   * The poller sends nothing before `untilMs`, which is infinite when every project is under way or there is none.
   * `keepsPermit` says that a project could be read, but the permit is kept for the next one that the list shows to move.
   */
  | { readonly kind: 'wait'; readonly untilMs: number; readonly keepsPermit?: boolean };

export interface PollResult {
  readonly hasFailed: boolean;
  readonly foundTransition: boolean;
  /** The poll left events that did not reach the bus, so the project is polled again as soon as it may be. */
  readonly hasLeftovers: boolean;
  /** It is undefined when the poll read no page; what was known of the project stays then. */
  readonly activity: ProjectActivity | undefined;
  /** It is true when the end of the invocation came before the poll had read a page. Then the project goes first. */
  readonly wasCutShort?: boolean | undefined;
  /** After a failure the project rests for at least this long. When it is undefined, only the usual back-off counts. */
  readonly restMs?: number | undefined;
}

export interface PollingNeed {
  /** It is true when this invocation has read every project, or has read a list that has shown almost every transition so far. */
  readonly hasReadAll: boolean;
  /** It is true when a project waits to be polled at once, or events wait to be published. */
  readonly hasWork: boolean;
  /**
   * It counts the transitions expected of open operations and of computes that may be suspended now. Operations that
   * have not begun are left out.
   */
  readonly expectedTransitionsPerMs: number;
}

/** It is a time in milliseconds, or is chosen by the number of projects. */
export type IntervalMsMin = number | 'by_size';

/** The project list is never read when `listing` is undefined. */
export interface PlannerLimits {
  /** No project is polled more often, unless the list or a command asks for it. */
  readonly pollIntervalMsMin: IntervalMsMin;
  readonly listing:
    | {
        /** Each page is read once in this time, or in a large account once in at most five times it. */
        readonly intervalMsMax: number;
        /** Two readings of a page for its hints are at least this far apart. It is undefined when the list gives no hints. */
        readonly hintIntervalMsMin: IntervalMsMin | undefined;
      }
    | undefined;
  /** The poller may send this many requests a minute, which determines how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** The lists of computes are read where that pays. Undefined means that they are not. */
  readonly readsComputes?: boolean | undefined;
  /** The back-off of a project doubles with each failure, up to this time. */
  readonly failureBackoffMsMax: number;
}

/**
 * No project waits for more rounds than this, whatever else there is to read, or for a minute in a small account. Where the list shows every
 * transition, this costs a quarter of the permits: sixteen rounds had a mean of 0.26 s with 500 projects in the place of 0.29.
 */
const ROUNDS_MAX = 4;
const WAIT_MS_MIN = 60_000;

/** Projects that are due get every second permit, which is enough for all of them in so many rounds. */
const ROUNDS_TO_SERVE = 2;

/** Permits come a little more slowly than the limit says, because a burst belongs to the same minute. */
const FILL_SHARE = 0.97;

/** A project rests for this long after the first of several consecutive failures. Most failures have passed by then. */
const FAILURE_BACKOFF_MS = 5_000;

/** A list that is expected to show this share of the transitions has proved itself: an invocation that has read it has read all projects. */
const RECALL_PROVEN = 0.9;

/** In an account with more projects, a decision looks at this many of those in which nothing is open or runs, and at the next ones with the next decision. */
const LOOKED_AT_MAX = 5_000;

/** A project of a small account is read every five seconds, which the specification suggests ("Operations"), and its list four times as often. */
const [SMALL_PROJECTS, SMALL_INTERVAL_MS] = [10, 5_000];
const [LARGE_PROJECTS, LARGE_INTERVAL_MS] = [50, 250];
const LISTS_PER_POLL = 4;

/** Returns milliseconds. Between the two sizes, the polls per second of a project rise evenly with their number. */
function intervalMsFor(projectCount: number): number {
  const size = (projectCount - SMALL_PROJECTS) / (LARGE_PROJECTS - SMALL_PROJECTS);
  const share = Math.min(1, Math.max(0, size));
  return 1 / ((1 - share) / SMALL_INTERVAL_MS + share / LARGE_INTERVAL_MS);
}

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const { requestsPerMinute, listing } = limits;
  const permitMs = 60_000 / (FILL_SHARE * requestsPerMinute);
  const byId = new Map<string, Project>();
  /** Holds the same projects, to be looked at by place. It is emptied whenever they change. */
  let inOrder: Project[] = [];
  let place = 0;
  /** In these projects something is open or runs, or their events did not reach the bus. */
  const hot = new Set<Project>();
  const asked = createAskedReadings();
  const pressing = new Set<Project>();
  const expected = createExpectations();
  const list = createProjectList(
    {
      intervalMsMax: listing?.intervalMsMax ?? Number.POSITIVE_INFINITY,
      hasHints: listing?.hintIntervalMsMin !== undefined,
      requestsPerMinute,
      backoffMs,
    },
    (id) => byId.get(id),
  );
  const computes = createComputeLists(expected);
  let wasDue = false;
  /** A bucket that fills by one permit in `permitMs` was empty at this time. */
  let emptyMs = Number.NEGATIVE_INFINITY;

  return {
    setProjects(projectIds, histories) {
      const wanted = new Set(projectIds);
      remove([...byId.keys()].filter((id) => !wanted.has(id)));
      add(projectIds, histories);
    },
    addProjects: add,
    removeProjects: remove,
    next,
    report,
    reportPage(page, shown, nowMs) {
      list.take(page, shown, nowMs);
      for (const project of (shown?.rows ?? []).flatMap(({ id }) => byId.get(id) ?? [])) follow(project);
    },
    reportComputes(projectId, reading, nowMs) {
      const project = byId.get(projectId);
      if (project === undefined) return;
      project.computesRestMs = reading === 'unreadable' ? nowMs + limits.failureBackoffMsMax : 0;
      if (reading !== 'cut_short') computes.noteReading(reading !== 'unreadable', nowMs);
      if (typeof reading === 'string') return;
      if (expected.learnComputes(project, reading, nowMs)) project.foretoldCount = TRANSITIONS_PER_SUSPEND;
      project.listWorthMs = expected.listWorthAtMs(project);
      project.recountMs = nowMs;
      follow(project);
    },
    markHot: (projectId) => asked.ask(projectId, byId.get(projectId), 'command'),
    wish: (projectId) => asked.ask(projectId, byId.get(projectId), 'wish'),
    waitingCount: asked.waitingCount,
    need,
    historyOf: (projectId) => byId.get(projectId)?.history,
    hintEvidence: () => list.evidence(),
    restoreHints: (evidence) => list.restore(evidence),
  };

  function next(nowMs: number): PollDecision {
    const look = lookAt(lookedAt(), list, expected, {
      intervalMs: intervalMs(),
      waitMsMax: waitMsMax(),
      serveMs: ROUNDS_TO_SERVE * roundMs(),
      nowMs,
    });
    const { due, best } = look;
    const isAfterDue = wasDue;
    wasDue = !wasDue && due !== undefined;
    if (wasDue && due !== undefined) return poll(due, nowMs);
    const wanted = asked.take(intervalMs(), nowMs);
    if (wanted !== undefined) return poll(wanted, nowMs);
    const page = bestPage(nowMs);
    const isPage = page.index > Math.max(0, look.bestIndex);
    // What is kept now would go to the next project that is due, and then no page would be read.
    if (!look.isShown && !isAfterDue && list.recall() >= RECALL_WORTH_A_PERMIT) {
      // One permit is kept for what the list shows next, and one for a page that is being read and would come first.
      const keptCount = page.busyIndex > look.bestIndex ? 2 : 1;
      const savedMs = emptyMs + (1 + keptCount) * permitMs;
      if (nowMs < savedMs) return { kind: 'wait', untilMs: savedMs, keepsPermit: true };
    }
    if (isPage) return readPage(page.place, nowMs);
    if (best !== undefined) computes.notePrice(look.bestIndex);
    const unlisted = computes.choose(look.unlisted, intervalMs(), list.recall(), nowMs);
    if (unlisted !== undefined) {
      spend(nowMs);
      return { kind: 'computes', projectId: unlisted.id };
    }
    const chosen = best ?? asked.first(intervalMs(), nowMs);
    if (chosen !== undefined) return poll(chosen, nowMs);
    return { kind: 'wait', untilMs: Math.min(look.untilMs, page.untilMs) };
  }

  function poll(project: Project, nowMs: number): PollDecision {
    spend(nowMs);
    project.isBusy = true;
    if (asked.delete(project) || project.hasMoved) pressing.add(project);
    return { kind: 'poll', projectId: project.id };
  }

  function readPage(page: number, nowMs: number): PollDecision {
    spend(nowMs);
    const read = list.pages[page] as ListPage;
    read.isBusy = true;
    read.readMs = nowMs;
    return { kind: 'list', page, cursor: read.cursor };
  }

  function spend(nowMs: number): void {
    emptyMs = Math.min(nowMs, Math.max(emptyMs, nowMs - 4 * permitMs) + permitMs);
  }

  /** Returns the projects that this decision looks at. */
  function lookedAt(): Iterable<Project> {
    if (inOrder.length !== byId.size) inOrder = [...byId.values()];
    if (inOrder.length <= LOOKED_AT_MAX) return inOrder;
    place = (place + LOOKED_AT_MAX) % inOrder.length;
    const part = inOrder.slice(place, place + LOOKED_AT_MAX);
    return [...hot, ...part, ...inOrder.slice(0, LOOKED_AT_MAX - part.length)];
  }

  /** Returns the page that is worth most, by its age alone where that is too great. */
  function bestPage(nowMs: number) {
    let [best, index, busyIndex, untilMs] = [-1, -1, 0, Number.POSITIVE_INFINITY];
    if (listing === undefined) return { place: best, index, busyIndex, untilMs };
    const staleMs = list.intervalMs();
    for (const [each, page] of list.pages.entries()) {
      if (page.isBusy) {
        busyIndex = Math.max(busyIndex, page.index);
        continue;
      }
      const isStale = nowMs >= page.readMs + staleMs;
      const readyMs = Math.max(
        page.restMs,
        page.readMs + (page.index > 0 ? Math.min(staleMs, listIntervalMs()) : staleMs),
      );
      if (nowMs < readyMs) untilMs = Math.min(untilMs, readyMs);
      else if ((isStale ? Number.MAX_VALUE : page.index) > index)
        [best, index] = [each, isStale ? Number.MAX_VALUE : page.index];
    }
    return { place: best, index, busyIndex, untilMs };
  }

  function report(
    projectId: string,
    { hasFailed, foundTransition, hasLeftovers, activity, wasCutShort, restMs = 0 }: PollResult,
    nowMs: number,
  ): void {
    const project = byId.get(projectId);
    if (project === undefined) return;
    project.isBusy = false;
    pressing.delete(project);
    if (wasCutShort) {
      asked.ask(projectId, project, 'command');
      return;
    }
    project.polledMs = nowMs;
    project.failureCount = hasFailed ? project.failureCount + 1 : 0;
    project.restMs = hasFailed ? nowMs + Math.max(restMs, backoffMs(project.failureCount)) : 0;
    project.hasLeftovers = hasLeftovers;
    project.recountMs = nowMs;
    if (!hasFailed) {
      project.foretoldCount = 0;
      list.takePoll(project, foundTransition, nowMs);
    }
    if (activity !== undefined) {
      expected.learn(project, activity, nowMs);
      if (limits.readsComputes === true) project.listWorthMs = expected.listWorthAtMs(project);
    }
    follow(project);
  }

  function follow(project: Project): void {
    const { openSinceMs, running, hasMoved, hasLeftovers, foretoldCount } = project;
    if (openSinceMs !== undefined || running.length > 0 || hasMoved || hasLeftovers || foretoldCount > 0)
      hot.add(project);
    else hot.delete(project);
  }

  function need(sinceMs: number, nowMs: number): PollingNeed {
    const overdueMs = nowMs - waitMsMax();
    const areShown =
      list.recall() >= RECALL_PROVEN &&
      list.pages.every(({ readMs, isBusy }) => readMs >= sinceMs && !isBusy);
    const isTold = list.recall() > RECALL_WORTH_A_READING;
    let hasReadAll = true;
    let hasWork = pressing.size > 0 || asked.waitingCount() > 0;
    // A project that fails has been tried; it must not keep the others' poller alive.
    for (const { polledMs, failureCount, hasLeftovers, hasMoved } of byId.values()) {
      if (failureCount > 0) continue;
      hasReadAll &&= areShown || polledMs >= sinceMs;
      hasWork ||= hasLeftovers || (hasMoved && isTold) || polledMs <= overdueMs;
    }
    let expectedTransitionsPerMs = 0;
    for (const project of hot) expectedTransitionsPerMs += expected.hotPerMs(project, nowMs);
    return { hasReadAll, hasWork, expectedTransitionsPerMs };
  }

  function add(ids: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void {
    for (const id of ids) {
      if (byId.has(id)) continue;
      const project = { ...expected.welcome(histories?.get(id)), ...UNLISTED, ...UNREAD, id };
      byId.set(id, project);
      asked.meet(project);
    }
    inOrder = [];
  }

  function remove(ids: readonly string[]): void {
    for (const id of ids) {
      const project = byId.get(id);
      if (project === undefined) continue;
      byId.delete(id);
      expected.forget(project);
      for (const each of [hot, asked, pressing]) each.delete(project);
    }
    inOrder = [];
  }

  /** Returns the longest time for which a project may wait. */
  function waitMsMax(): number {
    return Math.max(WAIT_MS_MIN, ROUNDS_MAX * roundMs(), intervalMs() + ROUNDS_TO_SERVE * roundMs());
  }

  /** Returns the time in which the rate limit allows one reading of everything. */
  function roundMs(): number {
    return ((byId.size + list.pages.length) * 60_000) / requestsPerMinute;
  }

  function intervalMs(): number {
    const { pollIntervalMsMin } = limits;
    return pollIntervalMsMin === 'by_size' ? intervalMsFor(byId.size) : pollIntervalMsMin;
  }

  /** One page shows many projects, so it may be read oftener than one of them, and in a large account as often as its weight says. */
  function listIntervalMs(): number {
    const { hintIntervalMsMin = Number.POSITIVE_INFINITY } = listing ?? {};
    if (hintIntervalMsMin !== 'by_size') return hintIntervalMsMin;
    return byId.size >= LARGE_PROJECTS ? 0 : intervalMs() / LISTS_PER_POLL;
  }

  function backoffMs(failureCount: number): number {
    const firstMs = Math.max(FAILURE_BACKOFF_MS, intervalMs());
    return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
  }
}

const UNREAD = {
  isBusy: false,
  polledMs: Number.NEGATIVE_INFINITY,
  failureCount: 0,
  restMs: 0,
  foretoldCount: 0,
  hasLeftovers: false,
  listWorthMs: Number.POSITIVE_INFINITY,
  computesRestMs: 0,
  unseenCount: 0,
  unseenPerMs: 0,
  countedMs: 0,
  recountMs: Number.NEGATIVE_INFINITY,
};
