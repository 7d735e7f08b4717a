/**
 * Which request to send next. Each permit goes to the first of these that has something to read (ADR 0006):
 * 1. at most every second permit: who would else wait for more than four rounds (reading-deadlines.ts has the theorem);
 * 2. within their shares: projects of commands, of hints and of wishes (pressing-requests.ts);
 * 3. everybody by weight: a stride is one over the square root of the expected transitions per second, and the turn whose
 *    virtual finish is smallest goes first, so polls are evenly spaced, at rates that minimise the mean delay.
 */

import {
  createHintFields,
  type FieldEvidence,
  type ProjectRow,
} from '../../../shared/core/records/hint-fields.ts';
import type { PollingNeed } from './duty-cycle.ts';
import type { PageEnd } from './list-pages.ts';
import { createListTurns, type ListingLimits } from './list-turns.ts';
import { hotIntensity } from './poll-intensity.ts';
import { createPressingRequests, strongerOf, type UrgencyShares } from './pressing-requests.ts';
import { createPriorityQueue } from './priority-queue.ts';
import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';
import { createProjectExpectations } from './project-expectations.ts';
import { createReadingDeadlines } from './reading-deadlines.ts';
import { createStrideOrder } from './stride-order.ts';
import type { Turn, Urgency } from './turn.ts';

export interface PollPlanner {
  /**
   * The projects to poll from now on; what is known of the others is forgotten. `histories`: how often something happened
   * in those that an earlier process has read.
   */
  setProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Adds projects to those that are polled, and forgets none; what it costs does not depend on how many there are. */
  addProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Polls these no more, and forgets what is known of them. */
  removeProjects(projectIds: readonly string[]): void;
  /** For a request that may leave now. What is handed out counts as under way until it is reported. */
  next(nowMs: number): PollDecision;
  report(projectId: string, result: PollResult, nowMs: number): void;
  /**
   * What a page of the project list showed, however partial; undefined: it could not be read. The first report starts the
   * turns of the list: whoever polls has read it to know the projects.
   */
  reportPage(page: number, shown: ShownPage | undefined, nowMs: number): void;
  /** A command of the bridge's own has started something there: poll it at once. */
  markHot(projectId: string): void;
  /** Somebody wishes for a fresh reading: it comes soon, at most once in a poll interval, and all wishes have a small share. */
  wish(projectId: string): void;
  /** Commands, hints and wishes that wait for their share of the requests. */
  waitingCount(): number;
  /** Whether there is a reason to go on polling. `sinceMs`: when this invocation began. O(projects). */
  need(sinceMs: number, nowMs: number): PollingNeed;
  /** How often something happens there, as far as it is known. */
  historyOf(projectId: string): ArrivalHistory | undefined;
  /** What was learned of the list's fields, to be kept across restarts. */
  hintEvidence(): readonly FieldEvidence[];
  restoreHints(evidence: readonly FieldEvidence[]): void;
}

export type PollDecision =
  | { readonly kind: 'poll'; readonly projectId: string }
  /** Read this page of the project list, from this cursor on. */
  | { readonly kind: 'list'; readonly page: number; readonly cursor: string | undefined }
  /** Nothing may leave before; `untilMs` is infinite when every project is under way or there is none. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface PollResult {
  readonly hasFailed: boolean;
  readonly foundTransition: boolean;
  /** What a poll left to do at once: events that did not reach the bus. */
  readonly hasLeftovers: boolean;
  /** Undefined when the poll read no page: what was known stays. */
  readonly activity: ProjectActivity | undefined;
  /** After a failure the project is left alone for at least this long; undefined: only the usual back-off counts. */
  readonly restMs?: number | undefined;
}

export interface ShownPage extends PageEnd {
  readonly rows: readonly ProjectRow[];
}

export interface PlannerLimits {
  /** No project is polled more often, unless a hint or a command asks for it; a wish does not. */
  readonly pollIntervalMsMin: number;
  /** The poller's share of the rate limit: it says how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** A project that fails is left alone for twice as long each time, up to this. */
  readonly failureBackoffMsMax: number;
  /** Undefined: the project list is never read. */
  readonly listing: ListingLimits | undefined;
  /** Of the requests, for each kind of urgency. */
  readonly urgencyShares?: UrgencyShares | undefined;
}

/** The first failure of a row: most are over by then. */
const FAILURE_BACKOFF_MS = 5_000;

/** Of the transitions of a project nine tenths moved a field of the list. */
const RECALL_PROVEN = 0.9;

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const projects = new Map<string, Turn>();
  const hints = createHintFields();
  const expectations = createProjectExpectations();
  const list = createListTurns(limits.listing, limits.requestsPerMinute);
  /** A turn that waits stands in the order or rests; if it was asked for, in `pressing` as well; and in `deadlines`. */
  const order = createStrideOrder();
  const rests = createPriorityQueue<Turn>();
  const pressing = createPressingRequests(limits.urgencyShares);
  const deadlines = createReadingDeadlines(limits, () => projects.size + list.turns.length);
  /** Became known since the last permit. */
  let newcomers: Turn[] = [];
  let wasReserved = false;

  return {
    setProjects(projectIds, histories = new Map()) {
      const wanted = new Set(projectIds);
      for (const [id, turn] of projects) if (!wanted.has(id)) removeProject(turn);
      addAll([...wanted], histories);
    },

    addProjects: (projectIds, histories = new Map()) => addAll(projectIds, histories),

    removeProjects(projectIds) {
      for (const turn of projectIds.map((id) => projects.get(id)))
        if (turn !== undefined) removeProject(turn);
    },

    next(nowMs) {
      welcomeNewcomers(nowMs);
      wakeRested(nowMs);
      hurryRisen(nowMs);
      const turn = choose(nowMs);
      if (turn === undefined) return { kind: 'wait', untilMs: nextChangeMs() };
      begin(turn);
      const { page } = turn;
      if (page === undefined) return { kind: 'poll', projectId: turn.id };
      return { kind: 'list', page, cursor: list.cursorOf(page) };
    },

    report(projectId, result, nowMs) {
      const turn = projects.get(projectId);
      if (turn === undefined) return;
      noteEnd(turn, result.hasFailed, nowMs);
      turn.hasLeftovers = result.hasLeftovers;
      if (result.foundTransition) hints.noteTransition(projectId);
      if (result.activity !== undefined) expectations.learn(turn, result.activity, nowMs);
      turn.stride = expectations.strideOf(turn, nowMs);
      if (result.hasFailed) return restAfterFailure(turn, nowMs, result.restMs);
      deadlines.follow(turn, nowMs);
      queueAgain(turn, nowMs);
      if (turn.wanted !== undefined) ask(turn, turn.wanted);
    },

    reportPage(page, shown, nowMs) {
      if (shown !== undefined) noteShown(page, shown, nowMs);
      const turn = list.turns[page];
      if (turn === undefined) return;
      noteEnd(turn, shown === undefined, nowMs);
      if (shown === undefined) return restAfterFailure(turn, nowMs);
      // Before its usual interval is over, there is no reason to hurry.
      deadlines.follow(turn, nowMs + Math.max(0, list.intervalMs() - deadlines.lateAfterMs()));
      turn.cold = shown.rows.reduce((sum, { id }) => sum + (projects.get(id)?.cold ?? 0), 0);
      queuePageAgain(turn, nowMs);
    },

    markHot: (projectId) => askFor(projectId, 'command'),
    wish: (projectId) => askFor(projectId, 'wish'),
    waitingCount: () => pressing.size,
    need(sinceMs, nowMs) {
      let [unreadCount, pressingCount, expectedTransitionsPerMs] = [0, 0, 0];
      for (const turn of projects.values()) {
        // One that fails has been tried; it must not keep the others' poller alive.
        if (turn.polledAtMs < sinceMs && turn.failureCount === 0) unreadCount += 1;
        if (turn.isPressing || turn.hasLeftovers) pressingCount += 1;
        expectedTransitionsPerMs += hotIntensity(turn.activity, nowMs);
      }
      const hasWork = pressing.size + pressingCount > 0 || deadlines.isOverdue(nowMs);
      return { hasReadAll: unreadCount === 0 || isListedSince(sinceMs), hasWork, expectedTransitionsPerMs };
    },
    historyOf: (projectId) => projects.get(projectId)?.history,
    hintEvidence: () => hints.evidence(),
    restoreHints: (evidence) => hints.restore(evidence),
  };

  // Who is known.

  function addAll(ids: readonly string[], histories: ReadonlyMap<string, ArrivalHistory>): void {
    const added = ids.filter((id) => !projects.has(id));
    for (const turn of expectations.welcome(added, histories)) addProject(turn);
  }

  function addProject(turn: Turn): void {
    projects.set(turn.id, turn);
    newcomers.push(turn);
    // What was never read is read first, before its rate is known: the others have been seen.
    if (turn.history === undefined) order.assign(turn, 0);
    else order.spread(turn);
    order.join(turn);
  }

  function removeProject(turn: Turn): void {
    leaveAll(turn);
    projects.delete(turn.id);
    hints.forget(turn.id);
    expectations.forget(turn);
  }

  /** Projects become known without a clock; the wait for their first reading counts from the next permit. */
  function welcomeNewcomers(nowMs: number): void {
    for (const turn of newcomers) if (projects.get(turn.id) === turn) deadlines.welcome(turn, nowMs);
    newcomers = [];
  }

  function noteShown(page: number, shown: ShownPage, nowMs: number): void {
    for (const id of hints.takeListing(shown.rows)) askFor(id, 'hint');
    const { added, gone } = list.note(page, shown);
    for (const turn of gone) leaveAll(turn);
    // A page that has shown itself is read at once.
    for (const turn of added) {
      deadlines.welcome(turn, nowMs);
      order.assign(turn, 0);
      order.join(turn);
    }
  }

  // Who is next.

  function choose(nowMs: number): Turn | undefined {
    const due = wasReserved ? undefined : deadlines.due(nowMs);
    wasReserved = due !== undefined;
    if (due !== undefined) return due;
    pressing.notePermit();
    return pressing.take(nowMs) ?? takeByWeight(nowMs) ?? pressing.takeBeyondShares(nowMs);
  }

  function takeByWeight(nowMs: number): Turn | undefined {
    for (let turn = order.take(); turn !== undefined; turn = order.take()) {
      const readyAtMs = turn.polledAtMs + intervalMsMinOf(turn);
      if (nowMs >= readyAtMs) return turn;
      rests.set(turn, readyAtMs);
    }
    return undefined;
  }

  function intervalMsMinOf({ page }: Turn): number {
    return page === undefined ? limits.pollIntervalMsMin : (limits.listing?.hintIntervalMsMin ?? 0);
  }

  function nextChangeMs(): number {
    return Math.min(rests.first()?.priority ?? Number.POSITIVE_INFINITY, pressing.firstAtMs());
  }

  function begin(turn: Turn): void {
    turn.isPressing = turn.wanted !== undefined || pressing.has(turn);
    turn.wanted = undefined;
    turn.isUnderWay = true;
    leaveAll(turn);
  }

  function leaveAll(turn: Turn): void {
    order.leave(turn);
    rests.delete(turn);
    pressing.fulfil(turn);
    deadlines.leave(turn);
  }

  // What asks for a reading.

  function askFor(projectId: string, urgency: Urgency): void {
    const turn = projects.get(projectId);
    if (turn === undefined) return;
    if (turn.isUnderWay || turn.failureCount > 0) turn.wanted = strongerOf(turn.wanted, urgency);
    else ask(turn, urgency);
  }

  /** Commands and hints know of something new, so their projects may be read at any time. */
  function ask(turn: Turn, urgency: Urgency): void {
    const isWish = urgency === 'wish';
    pressing.ask(turn, urgency, isWish ? turn.polledAtMs + limits.pollIntervalMsMin : 0);
    turn.wanted = undefined;
  }

  // When a turn comes again.

  function noteEnd(turn: Turn, hasFailed: boolean, nowMs: number): void {
    turn.isUnderWay = false;
    turn.isPressing = false;
    turn.polledAtMs = nowMs;
    turn.failureCount = hasFailed ? turn.failureCount + 1 : 0;
    // The first listing is reported without a turn that has begun.
    order.leave(turn);
    rests.delete(turn);
  }

  /** Its next turn is that of its weight, once its rest is over: however many fail, the others have their share. */
  function restAfterFailure(turn: Turn, nowMs: number, restMsMin = 0): void {
    deadlines.leave(turn);
    pressing.fulfil(turn);
    if (turn.page === undefined) order.assign(turn, turn.stride);
    rests.set(turn, nowMs + Math.max(restMsMin, backoffMs(limits, turn.failureCount)));
  }

  function queueAgain(turn: Turn, nowMs: number): void {
    if (turn.hasLeftovers) {
      order.assign(turn, 0);
      rests.set(turn, nowMs + limits.pollIntervalMsMin);
      return;
    }
    if (turn.isSpread) order.assign(turn, turn.stride);
    else order.spread(turn);
    order.join(turn);
  }

  /** By what it tells, and by its age at the latest. */
  function queuePageAgain(turn: Turn, nowMs: number): void {
    rests.set(turn, nowMs + list.intervalMs());
    // A page without projects, the last one, gives no hints: it is read for its age alone.
    if (limits.listing?.hintIntervalMsMin === undefined || turn.cold === 0) return;
    const recall = hints.recall();
    turn.stride = Math.sqrt((1 - recall) / (recall * turn.cold));
    order.assign(turn, turn.stride);
    order.join(turn);
  }

  function wakeRested(nowMs: number): void {
    for (let first = rests.first(); first !== undefined; first = rests.first()) {
      if (first.priority > nowMs) return;
      rests.delete(first.item);
      wake(first.item, nowMs);
    }
  }

  function wake(turn: Turn, nowMs: number): void {
    if (turn.page !== undefined) order.assign(turn, 0);
    order.join(turn);
    // A rest after a failure may be longer than the cap; from here on there are two rounds left.
    if (turn.failureCount > 0)
      deadlines.follow(turn, Math.max(turn.polledAtMs, nowMs - deadlines.lateAfterMs()));
  }

  /** A compute that has become suspendable moves its project forward, in proportion to the wait that is left. */
  function hurryRisen(nowMs: number): void {
    for (let turn = expectations.takeRisen(nowMs); turn; turn = expectations.takeRisen(nowMs)) {
      const before = turn.stride;
      turn.stride = expectations.strideOf(turn, nowMs);
      order.shorten(turn, Math.min(1, turn.stride / before));
    }
  }

  /** A list that has proved itself stands for a reading of everything; what it misses is read at the latest by its age. */
  function isListedSince(sinceMs: number): boolean {
    const { turns } = list;
    const areRead = turns.every((page) => page.polledAtMs >= sinceMs && !page.isUnderWay);
    return turns.length > 0 && areRead && hints.recall() >= RECALL_PROVEN;
  }
}

function backoffMs(limits: PlannerLimits, failureCount: number): number {
  const firstMs = Math.max(FAILURE_BACKOFF_MS, limits.pollIntervalMsMin);
  return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
}
