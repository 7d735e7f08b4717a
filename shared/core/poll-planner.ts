/**
 * Which request to send next. Stride scheduling: each project has a stride, one over the square root of its expected
 * transitions per second; the one whose virtual finish is smallest goes first. So polls are evenly spaced, at rates
 * that minimise the mean delay, and nothing starves: there is no priority, only weight (ADR 0006).
 */

import { createArrivalRates } from './arrival-rates.ts';
import type { PollingNeed } from './duty-cycle.ts';
import { createHintFields, type FieldEvidence, type ProjectRow } from './hint-fields.ts';
import { createListPages, type PageEnd } from './list-pages.ts';
import { coldIntensity, hotIntensity, nextRiseMs } from './poll-intensity.ts';
import { createPriorityQueue } from './priority-queue.ts';
import { type ArrivalHistory, longRunHistory, type ProjectActivity } from './project-activity.ts';
import { newTurn, type Turn } from './turn.ts';

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
  /** Something is known to happen there: poll it as soon as possible. */
  markHot(projectId: string): void;
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
  /** No project is polled more often, unless a hint or a command asks for it. */
  readonly pollIntervalMsMin: number;
  /** The poller's share of the rate limit: it says how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** A project that fails is left alone for twice as long each time, up to this. */
  readonly failureBackoffMsMax: number;
  /** Undefined: the project list is never read. */
  readonly listing: ListingLimits | undefined;
}

export interface ListingLimits {
  /** Each page is read at least so often, and in a large account at least every few times: a new project is found by then. */
  readonly intervalMsMax: number;
  /** No page is read more often for its hints; undefined: it gives none. */
  readonly hintIntervalMsMin: number | undefined;
}

/** The first failure of a row: most are over by then. */
const FAILURE_BACKOFF_MS = 5_000;

/** A round polls every project once; the square root alone would leave a few projects alone for a dozen of them. */
const STALENESS_ROUNDS_MAX = 4;

/** In a small account a round takes seconds, and a minute is still soon. */
const STALENESS_MS_MIN = 60_000;

/** Of the mean cold stride. Tried from 0.8 to 1.2 on three seeds: the mean delay is the same, the tail is not. */
const STRIDE_SHARE_MAX = 0.9;

/** Of the transitions of a project nine tenths moved a field of the list. */
const RECALL_PROVEN = 0.9;

/** Of the rate limit, for pages that give no hints. A list of 5,000 projects has 13. */
const LISTING_SHARE_MAX = 0.005;

/** So many times the usual interval, a new project has waited long enough. */
const LISTING_DELAY_MAX = 5;

/** Even spacing of the first turns: the golden ratio never repeats. */
const GOLDEN = 0.618_033_988_75;

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const turns = new Map<string, Turn>();
  const byFinish = createPriorityQueue();
  const byTime = createPriorityQueue();
  const rises = createPriorityQueue();
  const urgent = new Set<string>();
  const hints = createHintFields();
  let virtualTime = 0;
  const rates = createArrivalRates();
  let strideSum = 0;
  let spreadCount = 0;
  const listPages = createListPages();
  const pages: Turn[] = [];

  return {
    setProjects(projectIds, histories = new Map()) {
      const wanted = new Set(projectIds);
      for (const [id, turn] of turns) if (!wanted.has(id)) remove(turn);
      addAll([...wanted], histories);
    },

    addProjects: (projectIds, histories = new Map()) => addAll(projectIds, histories),

    removeProjects(projectIds) {
      for (const turn of projectIds.map((id) => turns.get(id))) if (turn !== undefined) remove(turn);
    },

    next(nowMs) {
      applyRises(nowMs);
      const turn = takeUrgent() ?? takeDelayed(nowMs) ?? takeByFinish(nowMs);
      if (turn === undefined) return { kind: 'wait', untilMs: firstDelayMs() ?? Number.POSITIVE_INFINITY };
      turn.isUnderWay = true;
      turn.version += 1;
      const { page } = turn;
      if (page === undefined) return { kind: 'poll', projectId: turn.id };
      return { kind: 'list', page, cursor: listPages.cursorOf(page) };
    },

    report(projectId, result, nowMs) {
      const turn = turns.get(projectId);
      if (turn === undefined) return;
      turn.isUnderWay = false;
      turn.isPressing = false;
      turn.polledAtMs = nowMs;
      turn.hasLeftovers = result.hasLeftovers;
      turn.failureCount = result.hasFailed ? turn.failureCount + 1 : 0;
      if (result.foundTransition) hints.noteTransition(projectId);
      if (result.activity !== undefined) learn(turn, result.activity, nowMs);
      turn.stride = strideOf(turn, nowMs);
      if (turn.failureCount > 0) {
        const restMs = Math.max(backoffMs(turn.failureCount), result.restMs ?? 0);
        return delay(turn, nowMs + restMs);
      }
      if (result.hasLeftovers) return delay(turn, nowMs + limits.pollIntervalMsMin);
      if (turn.isSpread) queue(turn, turn.stride);
      else spread(turn);
      byTime.push(projectId, nowMs + stalenessMs(), turn.version);
      if (turn.isWanted) urgent.add(projectId);
    },

    reportPage(page, shown, nowMs) {
      if (shown !== undefined) {
        for (const id of hints.takeListing(shown.rows)) want(id);
        listPages.note(page, shown);
        addPages(nowMs);
      }
      const turn = pages[page];
      if (turn === undefined) return;
      turn.isUnderWay = false;
      turn.failureCount = shown === undefined ? turn.failureCount + 1 : 0;
      if (shown === undefined) return delay(turn, nowMs + backoffMs(turn.failureCount));
      turn.polledAtMs = nowMs;
      turn.cold = shown.rows.reduce((sum, { id }) => sum + (turns.get(id)?.cold ?? 0), 0);
      queuePage(turn, nowMs);
    },

    markHot: want,
    need(sinceMs, nowMs) {
      let [unreadCount, pressingCount, expectedTransitionsPerMs] = [0, 0, 0];
      for (const turn of turns.values()) {
        // One that fails has been tried; it must not keep the others' poller alive.
        if (turn.polledAtMs < sinceMs && turn.failureCount === 0) unreadCount += 1;
        if (turn.isPressing || turn.hasLeftovers) pressingCount += 1;
        expectedTransitionsPerMs += hotIntensity(turn.activity, nowMs);
      }
      const hasWork = urgent.size + pressingCount > 0 || isOverdue(nowMs);
      return { hasReadAll: unreadCount === 0 || isListedSince(sinceMs), hasWork, expectedTransitionsPerMs };
    },
    historyOf: (projectId) => turns.get(projectId)?.history,
    hintEvidence: () => hints.evidence(),
    restoreHints: (evidence) => hints.restore(evidence),
  };

  function want(projectId: string): void {
    const turn = turns.get(projectId);
    if (turn === undefined) return;
    turn.isWanted = true;
    if (!turn.isUnderWay && turn.failureCount === 0) urgent.add(projectId);
  }

  /** As many turns as the list has pages; a page that has shown itself is read at once. */
  function addPages(nowMs: number): void {
    if (limits.listing === undefined) return;
    pages.length = Math.min(pages.length, listPages.count);
    while (pages.length < listPages.count) {
      const turn = newTurn(`(page ${pages.length} of the project list)`, 0, pages.length);
      pages.push(turn);
      delay(turn, nowMs);
    }
  }

  /** By what it tells, and by its age at the latest. */
  function queuePage(turn: Turn, nowMs: number): void {
    const { listing } = limits;
    if (listing === undefined) return;
    // A page without projects, the last one, gives no hints: it is read for its age alone.
    if (listing.hintIntervalMsMin !== undefined && turn.cold > 0) {
      const recall = hints.recall();
      turn.stride = Math.sqrt((1 - recall) / (recall * turn.cold));
      queue(turn, turn.stride);
    } else turn.version += 1;
    byTime.push(turn.id, nowMs + listingIntervalMs(listing.intervalMsMax), turn.version);
  }

  /** New projects are rare: looking for them is worth a small part of the limit, however many pages there are. */
  function listingIntervalMs(usualMs: number): number {
    const affordableMs = (listPages.count * 60_000) / (LISTING_SHARE_MAX * limits.requestsPerMinute);
    return Math.min(Math.max(usualMs, affordableMs), LISTING_DELAY_MAX * usualMs);
  }

  function takeUrgent(): Turn | undefined {
    for (const id of urgent) {
      urgent.delete(id);
      const turn = turns.get(id);
      if (turn === undefined || turn.isUnderWay) continue;
      turn.isWanted = false;
      turn.isPressing = true;
      return turn;
    }
    return undefined;
  }

  function takeDelayed(nowMs: number): Turn | undefined {
    const atMs = firstDelayMs();
    if (atMs === undefined || atMs > nowMs) return undefined;
    const entry = byTime.shift();
    return entry && currentTurn(entry.id, entry.version);
  }

  /** When the first delayed turn comes; entries that are out of date are dropped. */
  function firstDelayMs(): number | undefined {
    for (let entry = byTime.first(); entry !== undefined; entry = byTime.first()) {
      if (currentTurn(entry.id, entry.version) !== undefined) return entry.priority;
      byTime.shift();
    }
    return undefined;
  }

  function takeByFinish(nowMs: number): Turn | undefined {
    for (let entry = byFinish.shift(); entry !== undefined; entry = byFinish.shift()) {
      const turn = currentTurn(entry.id, entry.version);
      if (turn === undefined) continue;
      virtualTime = Math.max(virtualTime, entry.priority);
      const isPage = turn.page !== undefined;
      const intervalMs = isPage ? limits.listing?.hintIntervalMsMin : limits.pollIntervalMsMin;
      const readyAtMs = turn.polledAtMs + (intervalMs ?? 0);
      if (nowMs >= readyAtMs) return turn;
      delay(turn, readyAtMs);
    }
    return undefined;
  }

  /** A compute that has become suspendable moves its project forward, in proportion to the turn that is left. */
  function applyRises(nowMs: number): void {
    for (let entry = rises.first(); entry !== undefined && entry.priority <= nowMs; entry = rises.first()) {
      rises.shift();
      const turn = turns.get(entry.id);
      if (turn === undefined) continue;
      const before = turn.stride;
      turn.stride = strideOf(turn, nowMs);
      const isQueued = !turn.isUnderWay && turn.failureCount === 0;
      if (isQueued) queue(turn, Math.max(0, turn.finish - virtualTime) * Math.min(1, turn.stride / before));
    }
  }

  function learn(turn: Turn, activity: ProjectActivity, nowMs: number): void {
    const history = longRunHistory(turn.history, activity, nowMs - (turn.learnedAtMs ?? nowMs));
    rates.note(turn.history, history);
    turn.history = history;
    turn.learnedAtMs = nowMs;
    turn.activity = activity;
    const coldBefore = turn.cold;
    turn.cold = coldIntensity(history, rates.perMsMean());
    strideSum += 1 / Math.sqrt(turn.cold) - 1 / Math.sqrt(coldBefore);
    const riseAtMs = nextRiseMs(activity, nowMs);
    if (riseAtMs !== undefined && riseAtMs !== turn.riseAtMs) rises.push(turn.id, riseAtMs, 0);
    turn.riseAtMs = riseAtMs;
  }

  function isOverdue(nowMs: number): boolean {
    return (firstDelayMs() ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** A list that has proved itself stands for a reading of everything; what it misses is read at the latest by its age. */
  function isListedSince(sinceMs: number): boolean {
    const areRead = pages.every((page) => page.polledAtMs >= sinceMs && !page.isUnderWay);
    return pages.length > 0 && areRead && hints.recall() >= RECALL_PROVEN;
  }

  /** No project is polled much less often than one of the mean cold stride: it costs nothing and cuts the longest delays. */
  function strideOf(turn: Turn, nowMs: number): number {
    const strideMax = (STRIDE_SHARE_MAX * strideSum) / Math.max(1, turns.size);
    return Math.min(strideMax, 1 / Math.sqrt(turn.cold + hotIntensity(turn.activity, nowMs)));
  }

  function addAll(ids: readonly string[], histories: ReadonlyMap<string, ArrivalHistory>): void {
    const added = ids.filter((id) => !turns.has(id));
    for (const id of added) rates.note(undefined, histories.get(id));
    for (const id of added) add(id, histories.get(id));
  }

  function add(id: string, history: ArrivalHistory | undefined): void {
    const turn = newTurn(id, coldIntensity(history, rates.perMsMean()));
    turn.history = history;
    turns.set(id, turn);
    strideSum += turn.stride;
    // What was never read is read first, before its rate is known: the others have been seen.
    if (history === undefined) queue(turn, 0);
    else spread(turn);
  }

  function spread(turn: Turn): void {
    turn.isSpread = true;
    queue(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));
  }

  function remove(turn: Turn): void {
    turns.delete(turn.id);
    urgent.delete(turn.id);
    hints.forget(turn.id);
    strideSum -= 1 / Math.sqrt(turn.cold);
    rates.note(turn.history, undefined);
  }

  function queue(turn: Turn, virtualDelay: number): void {
    turn.finish = virtualTime + virtualDelay;
    turn.version += 1;
    byFinish.push(turn.id, turn.finish, turn.version);
  }

  function delay(turn: Turn, untilMs: number): void {
    turn.version += 1;
    byTime.push(turn.id, untilMs, turn.version);
  }

  function currentTurn(id: string, version: number): Turn | undefined {
    const turn = turns.get(id) ?? pages.find((page) => page.id === id);
    return turn?.version === version && !turn.isUnderWay ? turn : undefined;
  }

  /** However little is to be expected of a project, it is polled once in so many rounds of all of them. */
  function stalenessMs(): number {
    return Math.max(
      STALENESS_MS_MIN,
      (STALENESS_ROUNDS_MAX * turns.size * 60_000) / limits.requestsPerMinute,
    );
  }

  function backoffMs(failureCount: number): number {
    const firstMs = Math.max(FAILURE_BACKOFF_MS, limits.pollIntervalMsMin);
    return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
  }
}
